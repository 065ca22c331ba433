// EGPU-V012: run the program at gpu/load_return
// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The latency of a load that has not come back. Mended:
// -SEC("gpu/load.global")
// +SEC("gpu/load_return.global")
#include <egpu/bpf/egpu.bpf.h>

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, egpu_kernel_id_t);
	__type(value, egpu_count_t);
} counts SEC(".maps");

SEC("gpu/load.global")
int sum_latency(struct egpu_mem_ctx *ctx)
{
	egpu_kernel_id_t key = ctx->kernel;
	egpu_count_t *count = egpu_map_lookup_or_init(&counts, &key);

	if (count)
		__sync_fetch_and_add(count, ctx->latency);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
