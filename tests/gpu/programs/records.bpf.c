// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Records of every load by every thread, in a ring that may be large enough, and of every warp in one that is not; beside them
// the numbers of what was sent, and of what found no room.
#include <egpu/bpf/egpu.bpf.h>

struct load {
	__u64 number;
	__u64 inverse;
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 25);
	__type(value, struct load);
} loads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} warps SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, egpu_count_t);
} counts SEC(".maps");

static __always_inline void count(__u32 which)
{
	egpu_count_t *found = bpf_map_lookup_elem(&counts, &which);

	if (found)
		__sync_fetch_and_add(found, 1);
}

SEC("gpu/load.global")
int send_load(struct egpu_mem_ctx *ctx)
{
	struct load load;

	load.number = (__u64)ctx->block.x << 32 | ctx->thread.x;
	load.inverse = ~load.number;
	count(0);
	if (bpf_ringbuf_output(&loads, &load, sizeof(load), 0) != 0)
		count(1);
	return 0;
}

SEC("gpu.warp/kernel_entry")
int send_warp(struct egpu_kernel_ctx *ctx)
{
	__u32 warp = ctx->warp;

	count(2);
	if (bpf_ringbuf_output(&warps, &warp, sizeof(warp), 0) != 0)
		count(3);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
