// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// What an event counts, at an injection point that the test chooses: threads, groups of lanes and their lanes.
#include <egpu/bpf/egpu.bpf.h>

struct counted {
	egpu_count_t threads;
	egpu_count_t groups, lanes;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct counted);
} counted SEC(".maps");

#define COUNTED(name, event, context)							\
	SEC("gpu/" event) int name##_by_thread(struct context *ctx)			\
	{										\
		__u32 zero = 0;								\
		struct counted *c = bpf_map_lookup_elem(&counted, &zero);		\
											\
		if (c)									\
			__sync_fetch_and_add(&c->threads, 1);				\
		return 0;								\
	}										\
	SEC("gpu.warp/" event) int name##_by_warp(struct context *ctx)			\
	{										\
		__u32 zero = 0;								\
		struct counted *c = bpf_map_lookup_elem(&counted, &zero);		\
											\
		if (c) {								\
			__sync_fetch_and_add(&c->groups, 1);				\
			__sync_fetch_and_add(&c->lanes, ctx->active_lanes);		\
		}									\
		return 0;								\
	}

COUNTED(instruction, "instruction/*", egpu_kernel_ctx)
COUNTED(access, "mem", egpu_mem_ctx)

char LICENSE[] SEC("license") = "Dual BSD/GPL";
