// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Warps and threads that enter and leave each kernel.
#include <egpu/bpf/egpu.bpf.h>

struct ends {
	egpu_count_t entered, left;		// threads
	egpu_count_t warps_entered, warps_left;	// groups of lanes that entered and left together
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, egpu_kernel_id_t);
	__type(value, struct ends);
} ends SEC(".maps");

SEC("gpu/kernel_entry")
int thread_enters(struct egpu_kernel_ctx *ctx)
{
	egpu_kernel_id_t kernel = ctx->kernel;
	struct ends *e = egpu_map_lookup_or_init(&ends, &kernel);

	if (e)
		__sync_fetch_and_add(&e->entered, 1);
	return 0;
}

SEC("gpu/kernel_exit")
int thread_leaves(struct egpu_kernel_ctx *ctx)
{
	egpu_kernel_id_t kernel = ctx->kernel;
	struct ends *e = egpu_map_lookup_or_init(&ends, &kernel);

	if (e)
		__sync_fetch_and_add(&e->left, 1);
	return 0;
}

SEC("gpu.warp/kernel_entry")
int warp_enters(struct egpu_kernel_ctx *ctx)
{
	egpu_kernel_id_t kernel = ctx->kernel;
	struct ends *e = egpu_map_lookup_or_init(&ends, &kernel);

	if (e)
		__sync_fetch_and_add(&e->warps_entered, 1);
	return 0;
}

SEC("gpu.warp/kernel_exit")
int warp_leaves(struct egpu_kernel_ctx *ctx)
{
	egpu_kernel_id_t kernel = ctx->kernel;
	struct ends *e = egpu_map_lookup_or_init(&ends, &kernel);

	if (e)
		__sync_fetch_and_add(&e->warps_left, 1);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
