// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Accesses at or above a limit of bytes, for probe sets that set options.
#include <egpu/bpf/egpu.bpf.h>

EGPU_OPTION(__u32, limit, 4, "least bytes of a lane that are counted");
EGPU_OPTION(__u8, wide, 0, "1: count every access");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 64);
	__type(key, egpu_kernel_id_t);
	__type(value, egpu_count_t);
} counted SEC(".maps");

SEC("gpu/load.global")
int count_loads(struct egpu_mem_ctx *ctx)
{
	egpu_kernel_id_t kernel = ctx->kernel;
	egpu_count_t *count = egpu_map_lookup_or_init(&counted, &kernel);

	if (count && (wide || ctx->bytes_per_lane >= limit))
		__sync_fetch_and_add(count, 1);
	return 0;
}

SEC("gpu/store.global")
int count_stores(struct egpu_mem_ctx *ctx)
{
	egpu_kernel_id_t kernel = ctx->kernel;
	egpu_count_t *count = egpu_map_lookup_or_init(&counted, &kernel);

	if (count && (wide || ctx->bytes_per_lane >= limit))
		__sync_fetch_and_add(count, 1);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
