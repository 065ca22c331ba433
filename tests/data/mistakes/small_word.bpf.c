// EGPU-V018: make the member __u32 or __u64
// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A smallest number in two bytes. Mended:
// -	__u16 smallest;
// +	__u32 smallest;
#include <egpu/bpf/egpu.bpf.h>

struct range {
	__u16 smallest;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct range);
} ranges SEC(".maps");

SEC("gpu.warp/mem")
int keep_smallest(struct egpu_mem_ctx *ctx)
{
	__u32 zero = 0;
	struct range *range = bpf_map_lookup_elem(&ranges, &zero);

	if (range)
		egpu_min(&range->smallest, ctx->bytes);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
