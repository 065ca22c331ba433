// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Launches that began and ended, seen by their first and their last thread.
#include <egpu/bpf/egpu.bpf.h>

struct launches {
	egpu_count_t begun, ended;
	egpu_count_t lanes;		// that ran a program: one for each of both
	egpu_ns_t elapsed;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, egpu_kernel_id_t);
	__type(value, struct launches);
} launches SEC(".maps");

SEC("gpu.grid/kernel_entry")
int first_enters(struct egpu_kernel_ctx *ctx)
{
	egpu_kernel_id_t kernel = ctx->kernel;
	struct launches *l = egpu_map_lookup_or_init(&launches, &kernel);

	if (l) {
		__sync_fetch_and_add(&l->begun, 1);
		__sync_fetch_and_add(&l->lanes, ctx->active_lanes);
	}
	return 0;
}

SEC("gpu.grid/kernel_exit")
int last_leaves(struct egpu_kernel_ctx *ctx)
{
	egpu_kernel_id_t kernel = ctx->kernel;
	struct launches *l = egpu_map_lookup_or_init(&launches, &kernel);

	if (l) {
		__sync_fetch_and_add(&l->ended, 1);
		__sync_fetch_and_add(&l->lanes, ctx->active_lanes);
		__sync_fetch_and_add(&l->elapsed, ctx->elapsed);
	}
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
