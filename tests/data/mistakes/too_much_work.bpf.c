// EGPU-V009: rounds as long as these (what is behind the loop counts, too), or less in each; or gpu/kernel_exit, which may take 4096
// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A long loop at every access. Mended:
// -	for (int i = 0; i < 200; i++)
// +	for (int i = 0; i < 16; i++)
#include <egpu/bpf/egpu.bpf.h>

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, egpu_kernel_id_t);
	__type(value, egpu_count_t);
} counts SEC(".maps");

SEC("gpu/mem")
int mix(struct egpu_mem_ctx *ctx)
{
	egpu_kernel_id_t key = ctx->kernel;
	egpu_count_t *count = egpu_map_lookup_or_init(&counts, &key);
	__u64 hash = ctx->address;

	if (!count)
		return 0;
#pragma clang loop unroll(disable)
	for (int i = 0; i < 200; i++)
		hash = hash * 31 + (hash >> 7);
	__sync_fetch_and_add(count, hash & 1);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
