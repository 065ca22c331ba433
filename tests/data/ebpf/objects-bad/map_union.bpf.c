// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// refused: EGPU-B024
// with: is a union
#include <egpu/bpf/egpu.bpf.h>
union either { __u32 a; __u64 b; };
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, union either);
} counts SEC(".maps");
SEC("gpu/load")
int program(struct egpu_mem_ctx *ctx)
{
	return 0;
}
