// EGPU-B015: take struct egpu_mem_ctx *
// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A struct of its own for the context, with the fields in another order. Mended:
// -int count_loads(struct my_ctx *ctx)
// +int count_loads(struct egpu_mem_ctx *ctx)
#include <egpu/bpf/egpu.bpf.h>

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, egpu_kernel_id_t);
	__type(value, egpu_count_t);
} counts SEC(".maps");

struct my_ctx {
	__u32 site, kernel;
};

SEC("gpu/load.global")
int count_loads(struct my_ctx *ctx)
{
	egpu_kernel_id_t key = ctx->kernel;
	egpu_count_t *count = egpu_map_lookup_or_init(&counts, &key);

	if (count)
		__sync_fetch_and_add(count, 1);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
