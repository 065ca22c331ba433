// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// refused: EGPU-B025
// with: global variable 'to' holds an address
#include <egpu/bpf/egpu.bpf.h>
__u64 total;
__u64 *to = &total;
SEC("gpu/load")
int program(struct egpu_mem_ctx *ctx)
{
	return to != 0;
}
