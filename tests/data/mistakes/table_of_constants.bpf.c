// EGPU-V055: a switch over the values
// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A table of constants, read at an index of the lane. Mended:
// -		__sync_fetch_and_add(count, weights[ctx->lane & 3]);
// +		__sync_fetch_and_add(count, weight(ctx->lane & 3));
// -static const __u32 weights[4] = {1, 3, 9, 27};
// +static __u32 weight(__u32 lane)
// +{
// +	if (lane == 0)
// +		return 1;
// +	return lane == 1 ? 3 : lane == 2 ? 9 : 27;
// +}
#include <egpu/bpf/egpu.bpf.h>

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, egpu_kernel_id_t);
	__type(value, egpu_count_t);
} counts SEC(".maps");

static const __u32 weights[4] = {1, 3, 9, 27};

SEC("gpu/mem")
int sum_weights(struct egpu_mem_ctx *ctx)
{
	egpu_kernel_id_t key = ctx->kernel;
	egpu_count_t *count = egpu_map_lookup_or_init(&counts, &key);

	if (count)
		__sync_fetch_and_add(count, weights[ctx->lane & 3]);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
