// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Asynchronous copies of each kernel: how many were started, and the bytes that they ask for.
#include <egpu/bpf/egpu.bpf.h>

struct copy_key {
	egpu_kernel_id_t kernel;
	enum egpu_space space;
	enum egpu_access access;
};

struct copied {
	egpu_count_t copies;
	egpu_bytes_t requested_bytes;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 256);
	__type(key, struct copy_key);
	__type(value, struct copied);
} copied SEC(".maps");

SEC("gpu/async_copy")
int on_copy(struct egpu_mem_ctx *ctx)
{
	struct copy_key key = { ctx->kernel, ctx->space, ctx->access };
	struct copied *c = egpu_map_lookup_or_init(&copied, &key);

	if (!c)
		return 0;
	__sync_fetch_and_add(&c->copies, 1);
	__sync_fetch_and_add(&c->requested_bytes, ctx->bytes_per_lane);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
