// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Accesses and bytes of every memory instruction, by its site: one count a site, none shared.
#include <egpu/bpf/egpu.bpf.h>

struct at_site {
	egpu_count_t accesses;
	egpu_bytes_t requested_bytes;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 16384);
	__type(key, egpu_site_id_t);
	__type(value, struct at_site);
} sites SEC(".maps");

SEC("gpu/mem")
int count_site(struct egpu_mem_ctx *ctx)
{
	egpu_site_id_t site = ctx->site;
	struct at_site *s = egpu_map_lookup_or_init(&sites, &site);

	if (!s)
		return 0;
	__sync_fetch_and_add(&s->accesses, 1);
	__sync_fetch_and_add(&s->requested_bytes, ctx->bytes_per_lane);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
