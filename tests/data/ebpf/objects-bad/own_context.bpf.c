// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// refused: EGPU-B015
// with: 'my_ctx' is not a context of egpu
#include <egpu/bpf/egpu.bpf.h>
struct my_ctx { __u32 site, kernel; };
SEC("gpu/load")
int program(struct my_ctx *ctx)
{
	return ctx->kernel;
}
