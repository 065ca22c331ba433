// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A largest number in a map of which each SM has a copy.
#include <egpu/bpf/egpu.bpf.h>

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 4096);
	__type(key, egpu_site_id_t);
	__type(value, egpu_cycles_t);
} longest SEC(".maps");

SEC("gpu.warp/load_return.global")
int keep_longest(struct egpu_mem_ctx *ctx)
{
	egpu_site_id_t site = ctx->site;
	egpu_cycles_t *cycles = egpu_map_lookup_or_init(&longest, &site);

	if (cycles)
		egpu_max(cycles, ctx->latency);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
