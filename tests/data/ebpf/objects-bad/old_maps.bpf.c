// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// refused: EGPU-B020
// with: the form before BTF
#include <egpu/bpf/egpu.bpf.h>
struct old_definition { __u32 type, key_size, value_size, max_entries; };
struct old_definition counts SEC("maps") = { 2, 4, 8, 1 };
SEC("gpu/load")
int program(struct egpu_mem_ctx *ctx)
{
	return 0;
}
