// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// refused: EGPU-B024
// Two programs use the map.
// with: 'low' is a bit field
#include <egpu/bpf/egpu.bpf.h>
struct bits { __u32 low : 3, high : 29; };
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct bits);
} counts SEC(".maps");
SEC("gpu/load")
int loads(struct egpu_mem_ctx *ctx)
{
	__u32 key = 0;

	bpf_map_lookup_elem(&counts, &key);
	return 0;
}
SEC("gpu/store")
int stores(struct egpu_mem_ctx *ctx)
{
	__u32 key = 0;

	bpf_map_lookup_elem(&counts, &key);
	return 0;
}
