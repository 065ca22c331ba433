// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Global variables that are written: plain ones, with first values, static ones, in sections of their own.
#include <egpu/bpf/egpu.bpf.h>

egpu_bytes_t bytes_read;	/* .bss */
static egpu_count_t by_lane[32];
__u32 last_width;
__u64 left = 1000;		/* .data */
__s32 sign = -5;
egpu_count_t narrow SEC(".data.counts") = 3;
__u64 unused_here SEC(".data.unused");
const __u64 step = 2;

static __attribute__((noinline)) void count(__u32 lane)
{
	static egpu_count_t calls;

	__sync_fetch_and_add(&by_lane[lane & 31], 1);
	__sync_fetch_and_add(&calls, 1);
}

SEC("gpu/load.global")
int on_load(struct egpu_mem_ctx *ctx)
{
	__sync_fetch_and_add(&bytes_read, ctx->bytes_per_lane);
	last_width = ctx->bytes_per_lane;
	__sync_fetch_and_sub(&left, step);
	if (sign < 0)
		__sync_fetch_and_add(&narrow, 1);
	count(ctx->lane);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
