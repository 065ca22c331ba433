// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// refused: EGPU-B012
// with: granularity 'block'
#include <egpu/bpf/egpu.bpf.h>
SEC("gpu.block/kernel_entry")
int program(struct egpu_kernel_ctx *ctx)
{
	return 0;
}
