// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// What is executed, at each event that looks at instructions: threads, groups of lanes, and the lanes of these groups.
#include <egpu/bpf/egpu.bpf.h>

struct executed {
	egpu_count_t threads;
	egpu_count_t warps, lanes;
};

enum { ADDS, ALL, BARRIERS, BRANCHES, CALLS, PRODUCTS, BLOCKS, PARAMETERS, RETURNS, BRANCHES_TAKEN, KINDS };

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, KINDS);
	__type(key, __u32);
	__type(value, struct executed);
} executed SEC(".maps");

#define COUNTED(name, number, event)							\
	SEC("gpu/" event) int name##_by_thread(struct egpu_kernel_ctx *ctx)		\
	{										\
		__u32 key = number;							\
		struct executed *e = bpf_map_lookup_elem(&executed, &key);		\
											\
		if (e)									\
			__sync_fetch_and_add(&e->threads, 1);				\
		return 0;								\
	}										\
	SEC("gpu.warp/" event) int name##_by_warp(struct egpu_kernel_ctx *ctx)		\
	{										\
		__u32 key = number;							\
		struct executed *e = bpf_map_lookup_elem(&executed, &key);		\
											\
		if (e) {								\
			__sync_fetch_and_add(&e->warps, 1);				\
			__sync_fetch_and_add(&e->lanes, ctx->active_lanes);		\
		}									\
		return 0;								\
	}

COUNTED(adds, ADDS, "instruction/add.*")
COUNTED(all, ALL, "instruction/*")
COUNTED(barriers, BARRIERS, "barrier")
COUNTED(branches, BRANCHES, "branch")
COUNTED(calls, CALLS, "call")
COUNTED(products, PRODUCTS, "mma")
COUNTED(blocks, BLOCKS, "basic_block")
COUNTED(parameters, PARAMETERS, "instruction/*.param*")
COUNTED(returns, RETURNS, "instruction/ret")
COUNTED(taken, BRANCHES_TAKEN, "instruction/bra*")

char LICENSE[] SEC("license") = "Dual BSD/GPL";
