// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// refused: EGPU-B050
// with: 'total' is a global variable that can be written
#include <egpu/bpf/egpu.bpf.h>
__u64 total;
SEC("gpu/load")
int program(struct egpu_mem_ctx *ctx)
{
	total += ctx->bytes;
	return 0;
}
