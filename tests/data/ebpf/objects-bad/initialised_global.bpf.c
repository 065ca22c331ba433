// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// refused: EGPU-B050
// with: 'start' is a global variable that can be written
#include <egpu/bpf/egpu.bpf.h>
__u32 start = 5;
SEC("gpu/load")
int program(struct egpu_mem_ctx *ctx)
{
	return start + ctx->bytes;
}
