// EGPU-V002: what the event tells is in the context
// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A second argument, as of a function that is traced. Mended:
// -int by_size(struct egpu_mem_ctx *ctx, __u32 bytes)
// -{
// +int by_size(struct egpu_mem_ctx *ctx)
// +{
// +	__u32 bytes = ctx->bytes;
#include <egpu/bpf/egpu.bpf.h>

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 256);
	__type(key, __u32);
	__type(value, egpu_count_t);
} sizes SEC(".maps");

SEC("gpu/mem")
int by_size(struct egpu_mem_ctx *ctx, __u32 bytes)
{
	egpu_count_t *count = bpf_map_lookup_elem(&sizes, &bytes);

	if (count)
		__sync_fetch_and_add(count, 1);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
