// EGPU-V034: use SEC("gpu.warp/...")
// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// How many lanes there are, added by each of them. Mended:
// -SEC("gpu/mem")
// +SEC("gpu.warp/mem")
#include <egpu/bpf/egpu.bpf.h>

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 64);
	__type(key, egpu_kernel_id_t);
	__type(value, egpu_count_t);
} counts SEC(".maps");

SEC("gpu/mem")
int count_lanes(struct egpu_mem_ctx *ctx)
{
	egpu_kernel_id_t key = ctx->kernel;
	egpu_count_t *count = egpu_map_lookup_or_init(&counts, &key);

	if (count)
		__sync_fetch_and_add(count, ctx->active_lanes);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
