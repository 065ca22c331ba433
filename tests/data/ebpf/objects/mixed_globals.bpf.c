// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Programs for the Linux kernel beside one for a GPU, each side with maps and global variables of its own.
#include <linux/bpf.h>
#include <egpu/bpf/egpu.bpf.h>

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 64);
	__type(key, egpu_kernel_id_t);
	__type(value, egpu_count_t);
} warps SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 64);
	__type(key, __u32);
	__type(value, __u64);
} processes SEC(".maps");

__u64 calls;	/* the Linux kernel's */
egpu_count_t entries SEC(".data.gpu");

SEC("uprobe")
int on_call(void *ctx)
{
	__u32 process = bpf_get_current_pid_tgid() >> 32;
	__u64 one = 1;

	__sync_fetch_and_add(&calls, 1);
	return bpf_map_update_elem(&processes, &process, &one, BPF_ANY);
}

SEC("uretprobe")
int on_return(void *ctx)
{
	__sync_fetch_and_add(&calls, 1);
	return 0;
}

SEC("gpu.warp/kernel_entry")
int on_entry(struct egpu_kernel_ctx *ctx)
{
	egpu_kernel_id_t kernel = ctx->kernel;
	egpu_count_t *count = egpu_map_lookup_or_init(&warps, &kernel);

	if (count)
		__sync_fetch_and_add(count, 1);
	__sync_fetch_and_add(&entries, 1);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
