// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// refused: EGPU-B023
// with: both EGPU_F_MAPPED and EGPU_F_LINUX
#include <egpu/bpf/egpu.bpf.h>
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, EGPU_F_MAPPED | EGPU_F_LINUX);
	__type(key, __u32);
	__type(value, __u64);
} counts SEC(".maps");
SEC("gpu/load")
int program(struct egpu_mem_ctx *ctx)
{
	return 0;
}
