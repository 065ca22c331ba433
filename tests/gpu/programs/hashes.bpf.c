// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Hashes whose keys are made by the threads: the same on every GPU and on the simulated one, however many threads come for
// one key at once.
#include <egpu/bpf/egpu.bpf.h>

struct place {
	__u32 block;
	__u32 warp;
	__u32 lane;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, struct place);
	__type(value, egpu_count_t);
} places SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 64);
	__type(key, __u32);
	__type(value, egpu_count_t);
} lanes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, __u64);
	__type(value, egpu_count_t);
} widths SEC(".maps");

egpu_bytes_t bytes_read;
__u64 largest_thread;

SEC("gpu/load.global")
int count(struct egpu_mem_ctx *ctx)
{
	struct place place = { ctx->block.x, ctx->warp, ctx->lane };
	__u32 lane = ctx->lane;
	__u64 width = ctx->bytes_per_lane;
	egpu_count_t zero = 0, *found = egpu_map_lookup_or_init(&places, &place);

	if (found)
		__sync_fetch_and_add(found, 1);
	found = egpu_map_lookup_or_init(&lanes, &lane);
	if (found)
		__sync_fetch_and_add(found, 1);
	bpf_map_update_elem(&widths, &width, &zero, BPF_NOEXIST);
	found = bpf_map_lookup_elem(&widths, &width);
	if (found)
		__sync_fetch_and_add(found, 1);
	egpu_max(&largest_thread, (__u64)ctx->thread.x);
	__sync_fetch_and_add(&bytes_read, width);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
