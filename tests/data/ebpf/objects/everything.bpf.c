// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Maps of each type and placement, options, constants, functions shared by programs, questions about fields.
#include <egpu/bpf/egpu.bpf.h>
#include <bpf/bpf_core_read.h>

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, __u64);
} first SEC(".maps");

static struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16);
	__uint(key_size, 6);
	__uint(value_size, 8);
} second SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, EGPU_F_MAPPED);
	__type(key, __u32);
	__type(value, __u32);
} third SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, EGPU_F_LINUX | 1024);	/* BPF_F_MMAPABLE */
	__type(key, __u32);
	__type(value, __u32);
} fourth SEC(".maps");

EGPU_OPTION(__u32, limit, 8, "stop there");
EGPU_OPTION(bool, enabled, 1, "count at all");
EGPU_OPTION(__s16, shift, -3, "");
const volatile __u64 without_help = 1ull << 40;

static const __u32 weights[4] = { 10, 20, 30, 40 };

static __attribute__((noinline)) __u64 leaf(__u64 x)
{
	asm volatile("" : "+r"(x));
	return x * 3;
}

static __attribute__((noinline)) __u64 inner(struct egpu_kernel_ctx *ctx, __u64 x)
{
	asm volatile("" : "+r"(x));
	return leaf(x) + ctx->block.y;
}

__attribute__((noinline)) __u64 outer(__u64 x)
{
	asm volatile("" : "+r"(x));
	return leaf(x);
}

SEC("gpu/kernel_entry")
int entry(struct egpu_kernel_ctx *ctx)
{
	__u32 key = weights[ctx->sm & 3];
	__u64 *value = bpf_map_lookup_elem(&first, &key);
	__u16 other[3] = { 1, 2, 3 };
	__u64 *counter = bpf_map_lookup_elem(&second, other);

	if (!value || !counter || !enabled)
		return 0;
	*value = inner(ctx, limit) + outer(3) + shift + without_help;
	*counter = bpf_core_field_exists(ctx->sm) + bpf_core_field_size(ctx->launch);
	return 0;
}

SEC("gpu/kernel_entry")
int again(struct egpu_kernel_ctx *ctx)
{
	return leaf(ctx->grid_dim.z);
}

SEC("gpu.warp/kernel_exit/*gemm*")
int leave(struct egpu_kernel_ctx *ctx)
{
	__u32 key = 0;

	bpf_map_lookup_elem(&third, &key);
	bpf_map_lookup_elem(&fourth, &key);
	return leaf(ctx->thread.y);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
