// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Threads that execute each instruction, by its site.
#include <egpu/bpf/egpu.bpf.h>

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, egpu_site_id_t);
	__type(value, egpu_count_t);
} by_site SEC(".maps");

SEC("gpu/instruction/*")
int count_site(struct egpu_kernel_ctx *ctx)
{
	egpu_site_id_t site = ctx->site;
	egpu_count_t *n = egpu_map_lookup_or_init(&by_site, &site);

	if (n)
		__sync_fetch_and_add(n, 1);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
