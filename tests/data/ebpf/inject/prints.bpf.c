// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A line of every thread: more than a person reads.
#include <egpu/bpf/egpu.bpf.h>

SEC("gpu/kernel_exit")
int say(struct egpu_kernel_ctx *ctx)
{
	bpf_printk("thread %u of block %u\n", ctx->thread.x, ctx->block.x);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
