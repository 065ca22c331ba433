// EGPU-V017: egpu_value(ctx, &value, sizeof(value))
// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Memory of the application, read as Linux programs do. Mended:
// -	bpf_probe_read_kernel(&value, sizeof(value), (void *)ctx->address);
// +	egpu_value(ctx, &value, sizeof(value));
#include <egpu/bpf/egpu.bpf.h>

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, egpu_kernel_id_t);
	__type(value, egpu_count_t);
} counts SEC(".maps");

SEC("gpu/load_return.global")
int sum_values(struct egpu_mem_ctx *ctx)
{
	egpu_kernel_id_t key = ctx->kernel;
	egpu_count_t *count = egpu_map_lookup_or_init(&counts, &key);
	__u32 value = 0;

	bpf_probe_read_kernel(&value, sizeof(value), (void *)ctx->address);
	if (count)
		__sync_fetch_and_add(count, value);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
