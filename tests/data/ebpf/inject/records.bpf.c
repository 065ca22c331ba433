// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Records that leave the GPU: of every access, of every warp that enters, and lines.
#include <egpu/bpf/egpu.bpf.h>

struct access {
	egpu_kernel_id_t kernel;
	enum egpu_access kind;
	egpu_address_t address;
	__s32 below;
	__u16 halves[2];
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
	__type(value, struct access);
} accesses SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} warps SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, egpu_count_t);
} sent SEC(".maps");

static __always_inline void count(__u32 which)
{
	egpu_count_t *found = bpf_map_lookup_elem(&sent, &which);

	if (found)
		__sync_fetch_and_add(found, 1);
}

SEC("gpu/mem.global")
int send_access(struct egpu_mem_ctx *ctx)
{
	struct access access = {};

	access.kernel = ctx->kernel;
	access.kind = ctx->access;
	access.address = ctx->address;
	access.below = -(__s32)ctx->thread.x;
	access.halves[0] = ctx->block.x;
	access.halves[1] = ctx->thread.x;
	if (bpf_ringbuf_output(&accesses, &access, sizeof(access), 0) == 0)
		count(0);
	return 0;
}

SEC("gpu.warp/kernel_entry")
int send_warp(struct egpu_kernel_ctx *ctx)
{
	__u64 warp = (__u64)ctx->block.x << 32 | ctx->warp;

	bpf_ringbuf_output(&warps, &warp, sizeof(warp), 0);
	count(1);
	return 0;
}

SEC("gpu/kernel_exit")
int say(struct egpu_kernel_ctx *ctx)
{
	if (ctx->thread.x == 3 && ctx->block.x == 1)
		bpf_printk("%d of %u", -(int)ctx->thread.x, ctx->block_dim.x);
	if (ctx->thread.x == 4 && ctx->block.x == 0)
		bpf_printk("%x %lx %llu %c %d%%", 255, 1UL << 40, 1ULL << 63, 'c', 7);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
