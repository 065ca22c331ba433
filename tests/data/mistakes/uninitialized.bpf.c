// EGPU-B063: variable 'bytes' is used uninitialized
// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A variable that one way leaves without a value. Mended:
// -	__u64 bytes;
// +	__u64 bytes = 0;
#include <egpu/bpf/egpu.bpf.h>

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, egpu_kernel_id_t);
	__type(value, egpu_count_t);
} counts SEC(".maps");

SEC("gpu/mem")
int sum_bytes(struct egpu_mem_ctx *ctx)
{
	egpu_kernel_id_t key = ctx->kernel;
	egpu_count_t *count = egpu_map_lookup_or_init(&counts, &key);
	__u64 bytes;

	if (!count)
		return 0;
	if (ctx->active_lanes > 16)
		bytes = ctx->bytes;
	__sync_fetch_and_add(count, bytes);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
