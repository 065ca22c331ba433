// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// refused: EGPU-B052
// with: 'total' is in section '.mydata'
#include <egpu/bpf/egpu.bpf.h>
__u64 total SEC(".mydata");
SEC("gpu/load")
int program(struct egpu_mem_ctx *ctx)
{
	__sync_fetch_and_add(&total, 1);
	return 0;
}
