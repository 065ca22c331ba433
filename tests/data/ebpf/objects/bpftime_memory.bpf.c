// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// bpftime's memory capture; its hash in the GPU's memory, and its array shared with the Linux kernel, are definitions.
#define BPF_NO_GLOBAL_DATA
#include "include/vmlinux.h"
#include <bpf/bpf_helpers.h>

struct {
	__uint(type, 1503);	/* BPF_MAP_TYPE_GPU_ARRAY_MAP */
	__uint(max_entries, 4);
	__type(key, u32);
	__type(value, u64);
} counter SEC(".maps");

struct {
	__uint(type, 1501);	/* BPF_MAP_TYPE_GPU_HASH_MAP */
	__uint(max_entries, 16);
	__type(key, u32);
	__type(value, u64);
} unused_hash SEC(".maps");

struct {
	__uint(type, 1504);	/* BPF_MAP_TYPE_GPU_KERNEL_SHARED_ARRAY_MAP */
	__uint(max_entries, 16);
	__uint(map_flags, 1024);	/* BPF_F_MMAPABLE */
	__type(key, u32);
	__type(value, u64);
} unused_shared SEC(".maps");

SEC("kprobe/__memcapture")
int cuda__count(struct pt_regs *ctx)
{
	u32 key = 0;
	u64 *count = bpf_map_lookup_elem(&counter, &key);

	if (count)
		__sync_fetch_and_add(count, 1);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
