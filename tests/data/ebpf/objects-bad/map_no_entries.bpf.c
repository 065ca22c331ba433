// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// refused: EGPU-B022
// with: map 'counts' has no max_entries
#include <egpu/bpf/egpu.bpf.h>
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, __u32);
	__type(value, __u64);
} counts SEC(".maps");
SEC("gpu/load")
int program(struct egpu_mem_ctx *ctx)
{
	return 0;
}
