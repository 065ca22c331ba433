// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A program compiled against another egpu's context: fields elsewhere, one of them narrower, one that nobody has.
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

struct egpu_dim3___old { __u32 x, y, z; };

struct egpu_mem_ctx___old {
	__u32 sectors;
	__u32 of_the_future;
	__u32 latency;	/* 8 bytes by now */
	struct egpu_dim3___old block_dim;
	__u64 address;
} __attribute__((preserve_access_index));

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 8);
	__type(key, __u32);
	__type(value, __u64);
} seen SEC(".maps");

SEC("gpu/load_return.global")
int moved(struct egpu_mem_ctx___old *ctx)
{
	__u32 key = ctx->sectors;
	__u64 *value = bpf_map_lookup_elem(&seen, &key);

	if (!value)
		return 0;
	value[0] = ctx->address + ctx->latency + ctx->block_dim.y;
	if (bpf_core_field_exists(ctx->of_the_future))
		value[0] += ctx->of_the_future;
	return 0;
}
