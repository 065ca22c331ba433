// EGPU-B050: keep it in a map
// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A counter in a global variable. Mended:
// -__u64 total;
// +struct {
// +	__uint(type, BPF_MAP_TYPE_ARRAY);
// +	__uint(max_entries, 1);
// +	__type(key, __u32);
// +	__type(value, egpu_count_t);
// +} totals SEC(".maps");
// -	__sync_fetch_and_add(&total, ctx->active_lanes);
// +	__u32 zero = 0;
// +	egpu_count_t *total = bpf_map_lookup_elem(&totals, &zero);
// +
// +	if (total)
// +		__sync_fetch_and_add(total, ctx->active_lanes);
#include <egpu/bpf/egpu.bpf.h>

__u64 total;

SEC("gpu.warp/mem")
int count_accesses(struct egpu_mem_ctx *ctx)
{
	__sync_fetch_and_add(&total, ctx->active_lanes);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
