// EGPU-V017: count with __sync_fetch_and_add, without a lock
// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A lock, as a program of Linux takes one. Mended:
// -	bpf_spin_lock(&r->lock);
// -	r->count++;
// -	bpf_spin_unlock(&r->lock);
// +	__sync_fetch_and_add(&r->count, 1);
#include <egpu/bpf/egpu.bpf.h>

struct bpf_spin_lock {
	__u32 val;
};
struct record {
	struct bpf_spin_lock lock;
	egpu_count_t count;
};

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

	if (!r)
		return 0;
	bpf_spin_lock(&r->lock);
	r->count++;
	bpf_spin_unlock(&r->lock);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
