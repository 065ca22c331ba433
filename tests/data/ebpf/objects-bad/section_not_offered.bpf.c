// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// refused: EGPU-B012
// with: event 'barrier'
#include <egpu/bpf/egpu.bpf.h>
SEC("gpu/barrier")
int program(struct egpu_kernel_ctx *ctx)
{
	return 0;
}
