// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A loop that no line says to be one: where it stands is near its jump back.
#include <egpu/bpf/egpu.bpf.h>

#define EACH(i, count) for (__u32 i = 0; i < (count); i++)

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, egpu_kernel_id_t);
	__type(value, egpu_count_t);
} warps SEC(".maps");

SEC("gpu.warp/kernel_entry")
int hello(struct egpu_kernel_ctx *ctx)
{
	egpu_kernel_id_t kernel = ctx->kernel;
	egpu_count_t *count = egpu_map_lookup_or_init(&warps, &kernel);

	if (!count)
		return 0;
	EACH(i, ctx->grid_dim.x)
		__sync_fetch_and_add(count, 1);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
