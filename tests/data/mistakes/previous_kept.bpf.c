// EGPU-V014: put 'previous' into a map of its own; the two can then be of different moments
// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A value is moved to the place of the one before it. Mended:
// -	egpu_ns_t last, previous;
// -};
// +	egpu_ns_t last;
// +};
// -	if (!r)
// +	egpu_ns_t *previous = bpf_map_lookup_elem(&before, &zero);
// +
// +	if (!r || !previous)
// -	r->previous = r->last;
// +	*previous = r->last;
// -SEC("gpu.warp/kernel_entry")
// +struct {
// +	__uint(type, BPF_MAP_TYPE_ARRAY);
// +	__uint(max_entries, 1);
// +	__type(key, __u32);
// +	__type(value, egpu_ns_t);
// +} before SEC(".maps");
// +
// +SEC("gpu.warp/kernel_entry")
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
