// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// refused: EGPU-B025
// with: clang made a 1-byte flag of 'seen'
#include <egpu/bpf/egpu.bpf.h>
static __u64 seen;
SEC("gpu/load")
int program(struct egpu_mem_ctx *ctx)
{
	if (!seen)
		seen = 1;
	return 0;
}
