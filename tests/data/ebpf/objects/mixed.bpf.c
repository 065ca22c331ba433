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

int written_by_linux;

static __attribute__((noinline)) int pid_of(struct task_struct *task)
{
	return BPF_CORE_READ(task, pid);
}

SEC("uprobe")
int on_call(void *ctx)
{
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
