// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Asynchronous copies: how many, and the bytes that they ask for.
#include <egpu/bpf/egpu.bpf.h>

struct copy_key {
	enum egpu_space space;
	enum egpu_access access;
};

struct copied {
	egpu_count_t copies;
	egpu_bytes_t requested_bytes;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 64);
	__type(key, struct copy_key);
	__type(value, struct copied);
} copied SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, egpu_count_t);
} copies SEC(".maps");

SEC("gpu/async_copy")
int bytes_by_thread(struct egpu_mem_ctx *ctx)
{
	struct copy_key key = { ctx->space, ctx->access };
	struct copied *c = egpu_map_lookup_or_init(&copied, &key);

	if (!c)
		return 0;
	__sync_fetch_and_add(&c->copies, 1);
	__sync_fetch_and_add(&c->requested_bytes, ctx->bytes_per_lane);
	return 0;
}

SEC("gpu.warp/async_copy.global")
int bytes_by_warp(struct egpu_mem_ctx *ctx)
{
	struct copy_key key = { ctx->space, ctx->access };
	struct copied *c = egpu_map_lookup_or_init(&copied, &key);

	if (!c)
		return 0;
	__sync_fetch_and_add(&c->copies, ctx->active_lanes);
	__sync_fetch_and_add(&c->requested_bytes, ctx->bytes);
	return 0;
}

SEC("gpu/async_copy")
int copies_by_thread(struct egpu_mem_ctx *ctx)
{
	__u32 zero = 0;
	egpu_count_t *n = bpf_map_lookup_elem(&copies, &zero);

	if (n)
		__sync_fetch_and_add(n, 1);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
