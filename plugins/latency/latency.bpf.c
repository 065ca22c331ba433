// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Latency of global loads, as one log2 histogram per source line.
#include <egpu/bpf/egpu.bpf.h>

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 4096);
	__type(key, egpu_site_id_t);		// shown as file:line
	__type(value, struct egpu_log2_cycles);
} load_latency SEC(".maps");

SEC("gpu.warp/load_return.global")
int on_load_return(struct egpu_mem_ctx *ctx)
{
	egpu_site_id_t site = ctx->site;
	struct egpu_log2_cycles *h = egpu_map_lookup_or_init(&load_latency, &site);

	if (h)
		egpu_log2_add(h->slot, ctx->latency);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
