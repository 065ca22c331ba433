// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Programs for the Linux kernel and for a GPU in one object: what only the first use is no error.
#include <linux/bpf.h>
#include <egpu/bpf/egpu.bpf.h>
#include <bpf/bpf_core_read.h>

struct task_struct { int pid; } __attribute__((preserve_access_index));

struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);	/* nothing that a GPU could have */
	__uint(max_entries, 16);
	__uint(key_size, 4);
	__uint(value_size, 64);
} stacks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, EGPU_F_LINUX);
	__type(key, __u32);
	__type(value, egpu_ns_t);
} shared SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);	/* a GPU could have it, and no program there asks for it */
	__uint(max_entries, 16);
	__type(key, __u32);
	__type(value, __u64);
} of_linux_only SEC(".maps");

int written_by_linux;

static __attribute__((noinline)) int pid_of(struct task_struct *task)
{
	return BPF_CORE_READ(task, pid);
}

SEC("uprobe")
int on_call(void *ctx)
{
	__u32 key = 0;

	bpf_map_lookup_elem(&of_linux_only, &key);
	bpf_map_lookup_elem(&shared, &key);
	written_by_linux = pid_of((void *)bpf_get_current_task());
	return bpf_get_stackid(ctx, &stacks, 0);
}

SEC("gpu.warp/kernel_entry")
int on_entry(struct egpu_kernel_ctx *ctx)
{
	__u32 key = 0;
	egpu_ns_t *time = bpf_map_lookup_elem(&shared, &key);

	return time != 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
