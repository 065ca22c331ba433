// EGPU-V050: BPF_MAP_TYPE_ARRAY, whose index may be anything
// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A number that differs from lane to lane, as the key of a program that runs once a warp. Mended:
// -	__uint(type, BPF_MAP_TYPE_HASH);
// +	__uint(type, BPF_MAP_TYPE_ARRAY);
#include <egpu/bpf/egpu.bpf.h>

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, __u32);
	__type(value, egpu_count_t);
} counts SEC(".maps");

SEC("gpu.warp/mem")
int count_by_lane(struct egpu_mem_ctx *ctx)
{
	__u32 key = ctx->lane;
	egpu_count_t *count = egpu_map_lookup_or_init(&counts, &key);

	if (count)
		__sync_fetch_and_add(count, 1);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
