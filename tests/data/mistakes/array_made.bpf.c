// EGPU-V036: pass BPF_ANY
// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// An element of an array is to be made, and is there already. Mended:
// -	bpf_map_update_elem(&last, &zero, &launch, BPF_NOEXIST);
// +	bpf_map_update_elem(&last, &zero, &launch, BPF_ANY);
#include <egpu/bpf/egpu.bpf.h>

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, egpu_launch_id_t);
} last SEC(".maps");

SEC("gpu.grid/kernel_entry")
int note_launch(struct egpu_kernel_ctx *ctx)
{
	__u32 zero = 0;
	egpu_launch_id_t launch = ctx->launch;

	bpf_map_update_elem(&last, &zero, &launch, BPF_NOEXIST);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
