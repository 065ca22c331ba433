// EGPU-V032: egpu_max(word, value) keeps a maximum
// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A maximum by compare-and-exchange, which gives up. Mended:
// -	__u64 found = *most;
// -#pragma unroll
// -	for (int i = 0; i < 8 && found < ctx->bytes; i++) {
// -		__u64 old = __sync_val_compare_and_swap(most, found, ctx->bytes);
// -		if (old == found)
// -			break;
// -		found = old;
// -	}
// +	egpu_max(most, ctx->bytes);
#include <egpu/bpf/egpu.bpf.h>

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, egpu_bytes_t);
} largest SEC(".maps");

SEC("gpu.warp/mem")
int keep_largest(struct egpu_mem_ctx *ctx)
{
	__u32 zero = 0;
	egpu_bytes_t *most = bpf_map_lookup_elem(&largest, &zero);

	if (!most)
		return 0;
	__u64 found = *most;
#pragma unroll
	for (int i = 0; i < 8 && found < ctx->bytes; i++) {
		__u64 old = __sync_val_compare_and_swap(most, found, ctx->bytes);
		if (old == found)
			break;
		found = old;
	}
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
