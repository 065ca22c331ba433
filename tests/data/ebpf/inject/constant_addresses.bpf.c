// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Where loads of constant memory read: the sum of their addresses and how many there were.
#include <egpu/bpf/egpu.bpf.h>

struct where {
	egpu_count_t accesses;
	__u64 addresses;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct where);
} where_read SEC(".maps");

SEC("gpu/load.const")
int add_address(struct egpu_mem_ctx *ctx)
{
	__u32 zero = 0;
	struct where *where = bpf_map_lookup_elem(&where_read, &zero);

	if (!where)
		return 0;
	__sync_fetch_and_add(&where->accesses, 1);
	__sync_fetch_and_add(&where->addresses, ctx->address);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
