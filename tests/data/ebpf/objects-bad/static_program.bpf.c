// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// refused: EGPU-B014
// with: program 'program' is static
#include <egpu/bpf/egpu.bpf.h>
SEC("gpu/load")
static int program(struct egpu_mem_ctx *ctx)
{
	return 0;
}
