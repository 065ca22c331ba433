// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Hash maps by keys that are known only at run time: one that has room, one with a key of 20 bytes, one that is too small,
// and one whose entries are put there and looked for in two steps.
#include <egpu/bpf/egpu.bpf.h>

struct place {
	__u64 element;
	__u32 warp;
	__u32 lane;
	__u32 width;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, egpu_address_t);
	__type(value, egpu_count_t);
} addresses SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct place);
	__type(value, egpu_count_t);
} places SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8);
	__type(key, __u32);
	__type(value, egpu_count_t);
} few SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, egpu_count_t);
} warps SEC(".maps");

SEC("gpu/load.global")
int count(struct egpu_mem_ctx *ctx)
{
	egpu_address_t address = ctx->address;
	struct place place = {};
	__u32 lane = ctx->lane, warp = ctx->warp;
	egpu_count_t zero = 0, *found;

	found = egpu_map_lookup_or_init(&addresses, &address);
	if (found)
		__sync_fetch_and_add(found, 1);

	place.warp = warp;
	place.lane = lane;
	place.width = ctx->bytes_per_lane;
	found = egpu_map_lookup_or_init(&places, &place);
	if (found)
		__sync_fetch_and_add(found, 1);

	found = egpu_map_lookup_or_init(&few, &lane);
	if (found)
		__sync_fetch_and_add(found, 1);

	found = bpf_map_lookup_elem(&warps, &warp);
	if (!found) {
		bpf_map_update_elem(&warps, &warp, &zero, BPF_NOEXIST);
		found = bpf_map_lookup_elem(&warps, &warp);
	}
	if (found)
		__sync_fetch_and_add(found, 1);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
