// EGPU-V031: __sync_val_compare_and_swap(flag, 0, 1) == 0 for exactly one thread
// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A flag, tested and set: the first one counts. Mended:
// -	if (*flag == 0) {
// -		*flag = 1;
// -		__sync_fetch_and_add(&firsts, 1);
// -	}
// +	if (__sync_val_compare_and_swap(flag, 0, 1) == 0)
// +		__sync_fetch_and_add(&firsts, 1);
#include <egpu/bpf/egpu.bpf.h>

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} flags SEC(".maps");

egpu_count_t firsts;

SEC("gpu/mem")
int first_access(struct egpu_mem_ctx *ctx)
{
	__u32 zero = 0;
	__u64 *flag = bpf_map_lookup_elem(&flags, &zero);

	if (!flag)
		return 0;
	if (*flag == 0) {
		*flag = 1;
		__sync_fetch_and_add(&firsts, 1);
	}
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
