// EGPU-B010: did you mean 'load'?
// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// An event that is none. Mended:
// -SEC("gpu/laod.global")
// +SEC("gpu/load.global")
#include <egpu/bpf/egpu.bpf.h>

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, egpu_kernel_id_t);
	__type(value, egpu_count_t);
} counts SEC(".maps");

SEC("gpu/laod.global")
int count_loads(struct egpu_mem_ctx *ctx)
{
	egpu_kernel_id_t key = ctx->kernel;
	egpu_count_t *count = egpu_map_lookup_or_init(&counts, &key);

	if (count)
		__sync_fetch_and_add(count, 1);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
