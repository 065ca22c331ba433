// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// refused: EGPU-B015
// with: program 'program' takes an egpu_mem_ctx, and kernel_exit gives an egpu_kernel_ctx
#include <egpu/bpf/egpu.bpf.h>
SEC("gpu/kernel_exit")
int program(struct egpu_mem_ctx *ctx)
{
	return ctx->bytes;
}
