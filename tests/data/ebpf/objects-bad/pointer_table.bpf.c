// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// refused: EGPU-B052
// with: hold addresses
#include <egpu/bpf/egpu.bpf.h>
static const char a[] = "a", b[] = "b";
static const char *const names[2] = { a, b };
SEC("gpu/load")
int program(struct egpu_mem_ctx *ctx)
{
	return *names[ctx->sm & 1];
}
