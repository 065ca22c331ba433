// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// refused: EGPU-B041
// with: has no field 'sector' in egpu_mem_ctx
#include <linux/types.h>
#include <bpf/bpf_helpers.h>
struct egpu_mem_ctx { __u32 sector; } __attribute__((preserve_access_index));
SEC("gpu/load")
int program(struct egpu_mem_ctx *ctx)
{
	return ctx->sector;
}
