// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A map in host memory, which this version does not have.
#include <egpu/bpf/egpu.bpf.h>

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, EGPU_F_MAPPED);
	__uint(max_entries, 64);
	__type(key, egpu_kernel_id_t);
	__type(value, egpu_count_t);
} control SEC(".maps");

SEC("gpu/mem")
int count_traffic(struct egpu_mem_ctx *ctx)
{
	egpu_kernel_id_t kernel = ctx->kernel;
	egpu_count_t *count = bpf_map_lookup_elem(&control, &kernel);

	if (count)
		__sync_fetch_and_add(count, 1);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
