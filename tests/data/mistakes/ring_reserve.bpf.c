// EGPU-V017: make the record in a variable and send that: bpf_ringbuf_output(&ring, &event, sizeof(event), 0)
// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A record is reserved in a ring buffer, filled and submitted. Mended:
// -	__u64 *launch = bpf_ringbuf_reserve(&events, sizeof(*launch), 0);
// +	__u64 launch = ctx->launch;
// -	if (!launch)
// -		return 0;
// -	*launch = ctx->launch;
// -	bpf_ringbuf_submit(launch, 0);
// +	bpf_ringbuf_output(&events, &launch, sizeof(launch), 0);
#include <egpu/bpf/egpu.bpf.h>

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 65536);
} events SEC(".maps");

SEC("gpu.grid/kernel_entry")
int say(struct egpu_kernel_ctx *ctx)
{
	__u64 *launch = bpf_ringbuf_reserve(&events, sizeof(*launch), 0);

	if (!launch)
		return 0;
	*launch = ctx->launch;
	bpf_ringbuf_submit(launch, 0);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
