// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// refused: EGPU-B024
// with: 'either' is a union
#include <egpu/bpf/egpu.bpf.h>
union { __u64 wide; __u32 narrow; } either;
SEC("gpu/load")
int program(struct egpu_mem_ctx *ctx)
{
	either.wide = ctx->bytes;
	return 0;
}
