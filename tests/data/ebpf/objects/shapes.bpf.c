// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Keys and values of every describable form.
#include <egpu/bpf/egpu.bpf.h>

enum colour { RED = 1, GREEN = -2 };

struct place {
	egpu_kernel_id_t kernel;
	struct {
		egpu_site_id_t site;
		__u16 pair[2][3];
	} inner;
};

struct record {
	egpu_cycles_t cycles;
	egpu_ns_t time;
	struct egpu_log2_bytes sizes;
	struct place places[2];
	enum colour colour;
	__s32 signed_number;
	egpu_address_t last;
	enum egpu_access access;
	char name[12];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, struct place);
	__type(value, struct record);
} shapes SEC(".maps");

SEC("gpu/store")
int shaped(struct egpu_mem_ctx *ctx)
{
	struct place key = {};
	struct record *record = bpf_map_lookup_elem(&shapes, &key);

	if (record)
		record->last = ctx->address;
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
