// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Bytes that a kernel's instructions ask for, by memory space and kind of access.
// Each thread sums for itself: such sums live in registers and cost next to nothing.
#include <egpu/bpf/egpu.bpf.h>

struct traffic_key {
	egpu_kernel_id_t kernel;
	enum egpu_space space;
	enum egpu_access access;
};

struct traffic {
	egpu_bytes_t requested_bytes;	// bytes per lane, over all lanes that executed
	egpu_count_t accesses;		// executed accesses, counted per thread
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);	// one copy per SM
	__uint(max_entries, 4096);
	__type(key, struct traffic_key);
	__type(value, struct traffic);
} traffic SEC(".maps");

SEC("gpu/mem")
int count_traffic(struct egpu_mem_ctx *ctx)
{
	struct traffic_key key = { ctx->kernel, ctx->space, ctx->access };
	struct traffic *t = egpu_map_lookup_or_init(&traffic, &key);

	if (!t)
		return 0;
	__sync_fetch_and_add(&t->requested_bytes, ctx->bytes_per_lane);
	__sync_fetch_and_add(&t->accesses, 1);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
