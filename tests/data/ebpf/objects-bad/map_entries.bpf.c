// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// refused: EGPU-B022
// with: map 'counts' has 2147483648 entries
#include <egpu/bpf/egpu.bpf.h>
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 2147483648);
	__type(key, __u32);
	__type(value, __u64);
} counts SEC(".maps");
SEC("gpu/load")
int program(struct egpu_mem_ctx *ctx)
{
	return 0;
}
