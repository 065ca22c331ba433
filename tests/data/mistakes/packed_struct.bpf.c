// EGPU-V008: no packed struct
// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A counter at an odd address. Mended:
// -} __attribute__((packed));
// +};
#include <egpu/bpf/egpu.bpf.h>

struct record {
	__u8 kind;
	egpu_count_t count;
} __attribute__((packed));

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct record);
} records SEC(".maps");

SEC("gpu/mem")
int count_accesses(struct egpu_mem_ctx *ctx)
{
	__u32 zero = 0;
	struct record *r = bpf_map_lookup_elem(&records, &zero);

	if (r)
		r->kind = ctx->access, __sync_fetch_and_add(&r->count, 1);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
