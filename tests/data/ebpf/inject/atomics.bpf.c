// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Atomics when their value is there: how many, the sum of what was in memory before, and how long it took.
#include <egpu/bpf/egpu.bpf.h>

struct atomics {
	egpu_count_t threads;
	egpu_count_t before;	// sum of the 4-byte values that came back
	egpu_count_t warps, lanes;
	egpu_cycles_t cycles;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct atomics);
} atomics SEC(".maps");

SEC("gpu/atomic_return.global")
int value_by_thread(struct egpu_mem_ctx *ctx)
{
	__u32 zero = 0, value = 0;
	struct atomics *a = bpf_map_lookup_elem(&atomics, &zero);

	if (!a)
		return 0;
	egpu_value(ctx, &value, sizeof value);
	__sync_fetch_and_add(&a->threads, 1);
	__sync_fetch_and_add(&a->before, value);
	return 0;
}

SEC("gpu.warp/atomic_return")
int latency_by_warp(struct egpu_mem_ctx *ctx)
{
	__u32 zero = 0;
	struct atomics *a = bpf_map_lookup_elem(&atomics, &zero);

	if (!a)
		return 0;
	__sync_fetch_and_add(&a->warps, 1);
	__sync_fetch_and_add(&a->lanes, ctx->active_lanes);
	__sync_fetch_and_add(&a->cycles, ctx->latency);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
