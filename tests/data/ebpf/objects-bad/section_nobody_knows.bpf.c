// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// refused: EGPU-B010
// with: which neither egpu nor libbpf knows
#include <egpu/bpf/egpu.bpf.h>
SEC("gpus/load")
int program(struct egpu_mem_ctx *ctx)
{
	return 0;
}
