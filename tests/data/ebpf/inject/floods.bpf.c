// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Records of which each fills a chunk of the smallest ring: of the 32 that a warp sends at once most find no room.
#include <egpu/bpf/egpu.bpf.h>

struct record {
	__u64 numbers[63];
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
	__type(value, struct record);
} records SEC(".maps");

SEC("gpu/kernel_entry")
int send(struct egpu_kernel_ctx *ctx)
{
	struct record record = {};

	record.numbers[62] = ctx->lane;
	bpf_ringbuf_output(&records, &record, sizeof(record), 0);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
