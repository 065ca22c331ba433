// EGPU-B021: send with bpf_ringbuf_output(&events, &event, sizeof(event), 0)
// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Each access is to be sent to the host, through perf. Mended:
// -	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
// -	__uint(key_size, sizeof(int));
// -	__uint(value_size, sizeof(int));
// +	__uint(type, BPF_MAP_TYPE_RINGBUF);
// +	__uint(max_entries, 65536);
// -	bpf_perf_event_output(ctx, &events, 0, &page, sizeof(page));
// +	bpf_ringbuf_output(&events, &page, sizeof(page), 0);
#include <egpu/bpf/egpu.bpf.h>

#define BPF_MAP_TYPE_PERF_EVENT_ARRAY 4

struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(key_size, sizeof(int));
	__uint(value_size, sizeof(int));
} events SEC(".maps");

SEC("gpu/mem.global")
int send_page(struct egpu_mem_ctx *ctx)
{
	__u64 page = ctx->address >> 12 << 12;

	bpf_perf_event_output(ctx, &events, 0, &page, sizeof(page));
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
