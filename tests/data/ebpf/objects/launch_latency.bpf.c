// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// From the call of a launch on the CPU to the kernel's first instruction on the GPU:
// one object, two programs, one map.
#include <egpu/bpf/egpu.bpf.h>
#include <asm/ptrace.h>
#include <bpf/usdt.bpf.h>

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, EGPU_F_LINUX);	// a real kernel map, shared by both programs
	__uint(max_entries, 65536);
	__type(key, __u32);
	__type(value, egpu_ns_t);
} called_at SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, egpu_kernel_id_t);
	__type(value, struct egpu_log2_ns);
} launch_latency SEC(".maps");

// Runs in the Linux kernel: the agent marks each launch with a USDT probe.
SEC("usdt/libegpu-agent.so:egpu:launch")
int BPF_USDT(on_launch_call, __u64 launch)
{
	__u32 slot = launch & 0xffff;
	egpu_ns_t *at = bpf_map_lookup_elem(&called_at, &slot);

	if (at)
		*at = bpf_ktime_get_ns();
	return 0;
}

// Runs on the GPU, at the entry of each warp.
SEC("gpu.warp/kernel_entry")
int on_kernel_entry(struct egpu_kernel_ctx *ctx)
{
	__u32 slot = ctx->launch & 0xffff;
	egpu_kernel_id_t kernel = ctx->kernel;
	egpu_ns_t *at = bpf_map_lookup_elem(&called_at, &slot);
	struct egpu_log2_ns *h = egpu_map_lookup_or_init(&launch_latency, &kernel);

	if (at && h)
		egpu_log2_add(h->slot, egpu_time_ns() - *at);	// same clock, fitted; error bound in the session
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
