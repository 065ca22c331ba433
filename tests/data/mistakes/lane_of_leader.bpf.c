// EGPU-V033: for each thread: SEC("gpu/mem")
// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A field of each lane, in a program that one of them runs. Mended:
// -SEC("gpu.warp/mem")
// +SEC("gpu/mem")
#include <egpu/bpf/egpu.bpf.h>

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 32);
	__type(key, __u32);
	__type(value, egpu_count_t);
} lanes SEC(".maps");

SEC("gpu.warp/mem")
int by_lane(struct egpu_mem_ctx *ctx)
{
	__u32 lane = ctx->lane;
	egpu_count_t *count = bpf_map_lookup_elem(&lanes, &lane);

	if (count)
		__sync_fetch_and_add(count, 1);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
