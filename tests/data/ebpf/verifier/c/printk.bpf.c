// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A text is printed with numbers in it: no other text is read on a GPU.
#include <egpu/bpf/egpu.bpf.h>

SEC("gpu/mem")
int print_address(struct egpu_mem_ctx *ctx)
{
	bpf_printk("at %s", ctx->address);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
