// EGPU-V035: use an index below 32, or a larger max_entries
// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// An index that the array does not have. Mended:
// -	__uint(max_entries, 32);
// +	__uint(max_entries, 64);
#include <egpu/bpf/egpu.bpf.h>

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 32);
	__type(key, __u32);
	__type(value, egpu_count_t);
} counts SEC(".maps");

SEC("gpu/mem")
int count(struct egpu_mem_ctx *ctx)
{
	__u32 index = 40;
	egpu_count_t *count = bpf_map_lookup_elem(&counts, &index);

	if (count)
		__sync_fetch_and_add(count, 1);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
