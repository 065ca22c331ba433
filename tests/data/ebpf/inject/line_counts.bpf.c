// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Accesses of every instruction, by its site, and a program that reads one of these counts, which keeps it out of
// registers.
#include <egpu/bpf/egpu.bpf.h>

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__type(key, egpu_site_id_t);
	__type(value, egpu_count_t);
} accesses SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, egpu_count_t);
} totals SEC(".maps");

SEC("gpu/mem")
int count_site(struct egpu_mem_ctx *ctx)
{
	egpu_site_id_t site = ctx->site;
	egpu_count_t *n = egpu_map_lookup_or_init(&accesses, &site);

	if (n)
		__sync_fetch_and_add(n, 1);
	return 0;
}

SEC("gpu/load.global")
int total_loads(struct egpu_mem_ctx *ctx)
{
	__u32 zero = 0;
	egpu_count_t *n = bpf_map_lookup_elem(&totals, &zero);

	if (n)
		__sync_fetch_and_add(n, 1);
	return 0;
}

SEC("gpu/kernel_exit")
int copy_total(struct egpu_kernel_ctx *ctx)
{
	__u32 zero = 0, one = 1;
	egpu_count_t *from = bpf_map_lookup_elem(&totals, &zero);
	egpu_count_t *to = bpf_map_lookup_elem(&totals, &one);

	if (from && to)
		__sync_fetch_and_add(to, *from > 0);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
