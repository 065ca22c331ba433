// EGPU-V018: copy the field to a variable, and pass its address
// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The address of a field of the context, as a key. Mended:
// -	egpu_count_t *count = egpu_map_lookup_or_init(&counts, &ctx->kernel);
// +	egpu_kernel_id_t key = ctx->kernel;
// +	egpu_count_t *count = egpu_map_lookup_or_init(&counts, &key);
#include <egpu/bpf/egpu.bpf.h>

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, egpu_kernel_id_t);
	__type(value, egpu_count_t);
} counts SEC(".maps");

SEC("gpu/mem")
int count_accesses(struct egpu_mem_ctx *ctx)
{
	egpu_count_t *count = egpu_map_lookup_or_init(&counts, &ctx->kernel);

	if (count)
		__sync_fetch_and_add(count, 1);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
