// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// refused: EGPU-B051
// with: 'LINUX_KERNEL_VERSION' is extern
#include <egpu/bpf/egpu.bpf.h>
extern int LINUX_KERNEL_VERSION __kconfig;
SEC("gpu/load")
int program(struct egpu_mem_ctx *ctx)
{
	return LINUX_KERNEL_VERSION;
}
