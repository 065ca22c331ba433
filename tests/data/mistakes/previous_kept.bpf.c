// EGPU-V014: belongs in a map of its own
// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A value is moved to the place of the one before it. Mended:
// -	egpu_ns_t last, previous;
// -};
// +	egpu_ns_t last;
// +};
// -	r->previous = r->last;
#include <egpu/bpf/egpu.bpf.h>

struct record {
	egpu_ns_t last, previous;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct record);
} records SEC(".maps");

SEC("gpu.warp/kernel_entry")
int note_time(struct egpu_kernel_ctx *ctx)
{
	__u32 zero = 0;
	struct record *r = bpf_map_lookup_elem(&records, &zero);

	if (!r)
		return 0;
	r->previous = r->last;
	r->last = egpu_time_ns();
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
