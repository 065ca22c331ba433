// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// refused: EGPU-B052
// with: bpf_loop isn't available on a GPU
#include <egpu/bpf/egpu.bpf.h>
static long each(__u32 index, void *of)
{
	return index == 3;
}
SEC("gpu/load")
int program(struct egpu_mem_ctx *ctx)
{
	return bpf_loop(10, each, 0, 0);
}
