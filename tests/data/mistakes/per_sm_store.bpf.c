// EGPU-V015: or use BPF_MAP_TYPE_HASH or BPF_MAP_TYPE_ARRAY
// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The last time, stored in a map that has a copy for each SM. Mended:
// -	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
// +	__uint(type, BPF_MAP_TYPE_ARRAY);
#include <egpu/bpf/egpu.bpf.h>

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, egpu_ns_t);
} last SEC(".maps");

SEC("gpu.warp/mem")
int note_time(struct egpu_mem_ctx *ctx)
{
	__u32 zero = 0;
	egpu_ns_t *when = bpf_map_lookup_elem(&last, &zero);

	if (when)
		*when = egpu_time_ns();
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
