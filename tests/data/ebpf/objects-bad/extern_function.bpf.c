// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// refused: EGPU-B051
// with: 'elsewhere' is called, and not defined in the object
#include <egpu/bpf/egpu.bpf.h>
extern int elsewhere(int x);
SEC("gpu/load")
int program(struct egpu_mem_ctx *ctx)
{
	return elsewhere(ctx->bytes);
}
