// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The header after vmlinux.h, whose types it takes.
#include "include/vmlinux.h"
#include <egpu/bpf/egpu.bpf.h>

EGPU_OPTION(bool, wide, false, "takes vmlinux.h's bool");

SEC("gpu/mem.shared")
int after(struct egpu_mem_ctx *ctx)
{
	return wide == true ? ctx->bytes : 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
