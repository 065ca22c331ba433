// EGPU-V022: write the last N into a BPF_MAP_TYPE_ARRAY at index ctx->launch % N
// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Events in a ring buffer. Mended:
// -struct {
// -	__uint(type, BPF_MAP_TYPE_RINGBUF);
// -	__uint(max_entries, 65536);
// -} events SEC(".maps");
// +struct {
// +	__uint(type, BPF_MAP_TYPE_ARRAY);
// +	__uint(max_entries, 16);
// +	__type(key, __u32);
// +	__type(value, egpu_launch_id_t);
// +} events SEC(".maps");
// -	bpf_ringbuf_output(&events, &launch, sizeof(launch), 0);
// +	__u32 index = launch % 16;
// +
// +	bpf_map_update_elem(&events, &index, &launch, BPF_ANY);
#include <egpu/bpf/egpu.bpf.h>

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 65536);
} events SEC(".maps");

SEC("gpu.grid/kernel_entry")
int say(struct egpu_kernel_ctx *ctx)
{
	__u64 launch = ctx->launch;

	bpf_ringbuf_output(&events, &launch, sizeof(launch), 0);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
