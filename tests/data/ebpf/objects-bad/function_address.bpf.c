// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// refused: EGPU-B052
// with: the address of a function is taken
#include <egpu/bpf/egpu.bpf.h>
static int callback(__u32 index, void *data)
{
	return 0;
}
SEC("gpu/load")
int program(struct egpu_mem_ctx *ctx)
{
	return bpf_timer_set_callback(0, callback);
}
