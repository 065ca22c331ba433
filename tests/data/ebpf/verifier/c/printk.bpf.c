// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Text, which a GPU can't bring to the host yet.
#include <egpu/bpf/egpu.bpf.h>

SEC("gpu/mem")
int print_address(struct egpu_mem_ctx *ctx)
{
	bpf_printk("at %lx", ctx->address);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
