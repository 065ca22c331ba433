// EGPU-V018: egpu_value(ctx, &value, sizeof(value))
// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A value of a size that is known only when the program runs. Mended:
// -	if (count && egpu_value(ctx, &value, ctx->bytes_per_lane) == 0)
// +	if (count && egpu_value(ctx, &value, sizeof(value)) == 0)
#include <egpu/bpf/egpu.bpf.h>

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, egpu_kernel_id_t);
	__type(value, egpu_count_t);
} counts SEC(".maps");

SEC("gpu/store.global")
int sum_values(struct egpu_mem_ctx *ctx)
{
	egpu_kernel_id_t key = ctx->kernel;
	egpu_count_t *count = egpu_map_lookup_or_init(&counts, &key);
	__u64 value = 0;

	if (count && egpu_value(ctx, &value, ctx->bytes_per_lane) == 0)
		__sync_fetch_and_add(count, value);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
