// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Sectors a warp's access touches, per source line: shows uncoalesced access. Sampled.
#include <egpu/bpf/egpu.bpf.h>

struct line {
	egpu_count_t requests;		// executed warp instructions
	egpu_count_t sectors;		// distinct 32-byte sectors they touch
	egpu_bytes_t requested_bytes;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 4096);
	__type(key, egpu_site_id_t);		// shown as kernel and file:line
	__type(value, struct line);
} lines SEC(".maps");

SEC("gpu.warp/mem.global")
int count_sectors(struct egpu_mem_ctx *ctx)
{
	egpu_site_id_t site = ctx->site;
	struct line *l = egpu_map_lookup_or_init(&lines, &site);

	if (!l)
		return 0;
	__sync_fetch_and_add(&l->requests, 1);
	__sync_fetch_and_add(&l->sectors, ctx->sectors);
	__sync_fetch_and_add(&l->requested_bytes, ctx->bytes);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
