// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// refused: EGPU-B050
// with: 'total' is in section 'global_o.bss', which programs for the Linux kernel use too
#include <linux/bpf.h>
#include <egpu/bpf/egpu.bpf.h>
__u64 total, calls;
static __attribute__((noinline)) void call(void)
{
	__sync_fetch_and_add(&calls, 1);
}
SEC("uprobe")
int on_call(void *ctx)
{
	call();
	return 0;
}
SEC("gpu/load")
int program(struct egpu_mem_ctx *ctx)
{
	__sync_fetch_and_add(&total, ctx->bytes);
	return 0;
}
