// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// refused: EGPU-B025
// with: option 'name' is a pointer
#include <egpu/bpf/egpu.bpf.h>
EGPU_OPTION(char *, name, "x", "a name");
SEC("gpu/load")
int program(struct egpu_mem_ctx *ctx)
{
	return name[0];
}
