// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Values that accesses move and a parameter of the kernel, at each event that may have them: sums are the same on every GPU
// and on the simulated one.
#include <egpu/bpf/egpu.bpf.h>

enum event {
	EVENT_STORE,
	EVENT_LOAD_RETURN,
	EVENT_ATOMIC_RETURN,
	EVENT_KERNEL_ENTRY,
	EVENT_KERNEL_EXIT,
	EVENT_BARRIER,
	EVENT_BRANCH,
	EVENT_BASIC_BLOCK,
};

struct event_key {
	egpu_kernel_id_t kernel;
	enum event event;
};

struct event_values {
	egpu_count_t values;	// accesses of which the value was there
	egpu_count_t without;	// others
	egpu_count_t sum;	// of the values' bits; what an atomic gave back depends on who came first
	egpu_count_t arguments;	// sum of the kernel's third parameter
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 1024);
	__type(key, struct event_key);
	__type(value, struct event_values);
} events SEC(".maps");

static __always_inline int value_of(struct egpu_mem_ctx *ctx, enum event event)
{
	struct event_key key = { ctx->kernel, event };
	struct event_values *found = egpu_map_lookup_or_init(&events, &key);
	__u32 value = 0;

	if (!found)
		return 0;
	if (egpu_value(ctx, &value, sizeof(value))) {
		__sync_fetch_and_add(&found->without, 1);
	} else {
		__sync_fetch_and_add(&found->values, 1);
		if (event != EVENT_ATOMIC_RETURN)
			__sync_fetch_and_add(&found->sum, value);
	}
	__sync_fetch_and_add(&found->arguments, (__u32)egpu_arg(ctx, 2));
	return 0;
}

static __always_inline int argument_of(struct egpu_kernel_ctx *ctx, enum event event)
{
	struct event_key key = { ctx->kernel, event };
	struct event_values *found = egpu_map_lookup_or_init(&events, &key);

	if (found)
		__sync_fetch_and_add(&found->arguments, (__u32)egpu_arg(ctx, 2));
	return 0;
}

#define VALUE(section, name, event)                                            \
	SEC(section) int name(struct egpu_mem_ctx *ctx)                        \
	{                                                                      \
		return value_of(ctx, event);                                   \
	}
#define ARGUMENT(section, name, event)                                         \
	SEC(section) int name(struct egpu_kernel_ctx *ctx)                     \
	{                                                                      \
		return argument_of(ctx, event);                                \
	}

VALUE("gpu/store", on_store, EVENT_STORE)
VALUE("gpu/load_return", on_load_return, EVENT_LOAD_RETURN)
VALUE("gpu/atomic_return", on_atomic_return, EVENT_ATOMIC_RETURN)
ARGUMENT("gpu/kernel_entry", on_entry, EVENT_KERNEL_ENTRY)
ARGUMENT("gpu/kernel_exit", on_exit, EVENT_KERNEL_EXIT)
ARGUMENT("gpu/barrier", on_barrier, EVENT_BARRIER)
ARGUMENT("gpu/branch", on_branch, EVENT_BRANCH)
ARGUMENT("gpu/basic_block", on_basic_block, EVENT_BASIC_BLOCK)

char LICENSE[] SEC("license") = "Dual BSD/GPL";
