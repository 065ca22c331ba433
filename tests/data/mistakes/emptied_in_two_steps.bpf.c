// EGPU-V031: __sync_lock_test_and_set(gathered, 0) stores 0 and gives what was there, at once
// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// What was gathered is taken out by the first who finds something. Mended:
// -	if (*gathered) {
// -		*gathered = 0;
// -		__sync_fetch_and_add(&taken, 1);
// -	}
// +	if (__sync_lock_test_and_set(gathered, 0))
// +		__sync_fetch_and_add(&taken, 1);
#include <egpu/bpf/egpu.bpf.h>

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, egpu_bytes_t);
} sums SEC(".maps");

egpu_count_t taken;

SEC("gpu.warp/kernel_exit")
int take_out(struct egpu_kernel_ctx *ctx)
{
	__u32 zero = 0;
	egpu_bytes_t *gathered = bpf_map_lookup_elem(&sums, &zero);

	if (!gathered)
		return 0;
	if (*gathered) {
		*gathered = 0;
		__sync_fetch_and_add(&taken, 1);
	}
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
