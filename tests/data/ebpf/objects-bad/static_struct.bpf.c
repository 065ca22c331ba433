// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// refused: EGPU-B025
// with: bytes of 'pair'
#include <egpu/bpf/egpu.bpf.h>
static struct { __u64 lanes, bytes; } pair;
SEC("gpu/load")
int program(struct egpu_mem_ctx *ctx)
{
	pair.lanes = ctx->lane;
	pair.bytes += pair.lanes;
	return 0;
}
