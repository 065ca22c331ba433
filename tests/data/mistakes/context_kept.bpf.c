// EGPU-V020: store the fields that you need
// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The context, kept in a map for later. Mended:
// -	struct egpu_mem_ctx *ctx;
// -};
// +	egpu_address_t address;
// +};
// -		k->ctx = ctx;
// +		k->address = ctx->address;
#include <egpu/bpf/egpu.bpf.h>

struct kept {
	struct egpu_mem_ctx *ctx;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct kept);
} last SEC(".maps");

SEC("gpu/mem")
int keep(struct egpu_mem_ctx *ctx)
{
	__u32 zero = 0;
	struct kept *k = bpf_map_lookup_elem(&last, &zero);

	if (k)
		k->ctx = ctx;
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
