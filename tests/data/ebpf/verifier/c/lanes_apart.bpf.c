// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A sum over lanes to which only some of them come; clang must not make one call of both.
#include <egpu/bpf/egpu.bpf.h>

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, egpu_site_id_t);
	__type(value, egpu_bytes_t);
} sums SEC(".maps");

SEC("gpu/load.global")
int sum_apart(struct egpu_mem_ctx *ctx)
{
	egpu_site_id_t site = ctx->site;
	egpu_bytes_t *sum = egpu_map_lookup_or_init(&sums, &site);
	__u64 of_all;

	if (!sum)
		return 0;
	if (ctx->lane & 1)
		of_all = egpu_lanes_sum(ctx->address);
	else
		of_all = egpu_lanes_sum(ctx->thread.x);
	egpu_max(sum, of_all);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
