// EGPU-V017: a context's fields are read directly: ctx->bytes
// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The context is read as a structure of the kernel. Mended:
// -	__u32 bytes = BPF_CORE_READ(ctx, bytes);
// +	__u32 bytes = ctx->bytes;
#include <egpu/bpf/egpu.bpf.h>
#include <bpf/bpf_core_read.h>

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 64);
	__type(key, egpu_kernel_id_t);
	__type(value, egpu_bytes_t);
} sums SEC(".maps");

SEC("gpu.warp/mem")
int sum_bytes(struct egpu_mem_ctx *ctx)
{
	egpu_kernel_id_t key = ctx->kernel;
	egpu_bytes_t *sum = egpu_map_lookup_or_init(&sums, &key);
	__u32 bytes = BPF_CORE_READ(ctx, bytes);

	if (sum)
		__sync_fetch_and_add(sum, bytes);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
