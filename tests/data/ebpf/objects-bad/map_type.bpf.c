// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// refused: EGPU-B021
// with: map 'traces' has type 7, which a GPU can't have
#include <egpu/bpf/egpu.bpf.h>
struct {
	__uint(type, 7);
	__uint(max_entries, 1);
	__uint(key_size, 4);
	__uint(value_size, 8);
} traces SEC(".maps");
SEC("gpu/load")
int program(struct egpu_mem_ctx *ctx)
{
	return 0;
}
