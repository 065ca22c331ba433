// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// refused: EGPU-B010
// with: unknown event 'lod'
#include <egpu/bpf/egpu.bpf.h>
SEC("gpu/lod.global")
int program(struct egpu_mem_ctx *ctx)
{
	return 0;
}
