// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A count for each event there is, each thread by itself: it must be the same on every GPU and on the simulated one.
#include <egpu/bpf/egpu.bpf.h>

enum event {
	EVENT_KERNEL_ENTRY,
	EVENT_KERNEL_EXIT,
	EVENT_LOAD,
	EVENT_STORE,
	EVENT_ATOMIC,
	EVENT_LOAD_RETURN,
	EVENT_ATOMIC_RETURN,
	EVENT_BARRIER,
	EVENT_BRANCH,
	EVENT_BASIC_BLOCK,
	EVENT_CALL,
	EVENT_SETP,
};

struct event_key {
	egpu_kernel_id_t kernel;
	enum event event;
};

struct event_count {
	egpu_count_t times;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 1024);
	__type(key, struct event_key);
	__type(value, struct event_count);
} events SEC(".maps");

static __always_inline int count(egpu_kernel_id_t kernel, enum event event)
{
	struct event_key key = { kernel, event };
	struct event_count *found = egpu_map_lookup_or_init(&events, &key);

	if (found)
		__sync_fetch_and_add(&found->times, 1);
	return 0;
}

#define ON(section, name, context, event)                                      \
	SEC(section) int name(struct context *ctx)                             \
	{                                                                      \
		return count(ctx->kernel, event);                              \
	}

ON("gpu/kernel_entry", on_entry, egpu_kernel_ctx, EVENT_KERNEL_ENTRY)
ON("gpu/kernel_exit", on_exit, egpu_kernel_ctx, EVENT_KERNEL_EXIT)
ON("gpu/load", on_load, egpu_mem_ctx, EVENT_LOAD)
ON("gpu/store", on_store, egpu_mem_ctx, EVENT_STORE)
ON("gpu/atomic", on_atomic, egpu_mem_ctx, EVENT_ATOMIC)
ON("gpu/load_return", on_load_return, egpu_mem_ctx, EVENT_LOAD_RETURN)
ON("gpu/atomic_return", on_atomic_return, egpu_mem_ctx, EVENT_ATOMIC_RETURN)
ON("gpu/barrier", on_barrier, egpu_kernel_ctx, EVENT_BARRIER)
ON("gpu/branch", on_branch, egpu_kernel_ctx, EVENT_BRANCH)
ON("gpu/basic_block", on_basic_block, egpu_kernel_ctx, EVENT_BASIC_BLOCK)
ON("gpu/call", on_call, egpu_kernel_ctx, EVENT_CALL)
ON("gpu/instruction/setp*", on_setp, egpu_kernel_ctx, EVENT_SETP)

char LICENSE[] SEC("license") = "Dual BSD/GPL";
