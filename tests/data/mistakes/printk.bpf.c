// EGPU-V017: keep the number in a map
// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A line of text at each kernel. Mended:
// -SEC("gpu.grid/kernel_entry")
// +struct {
// +	__uint(type, BPF_MAP_TYPE_ARRAY);
// +	__uint(max_entries, 1);
// +	__type(key, __u32);
// +	__type(value, egpu_launch_id_t);
// +} last SEC(".maps");
// +
// +SEC("gpu.grid/kernel_entry")
// -	static const char text[] = "launch %llu";
// +	__u32 zero = 0;
// +	__u64 launch = ctx->launch;
// -	bpf_trace_printk(text, sizeof(text), ctx->launch);
// +	bpf_map_update_elem(&last, &zero, &launch, BPF_ANY);
#include <egpu/bpf/egpu.bpf.h>

SEC("gpu.grid/kernel_entry")
int say(struct egpu_kernel_ctx *ctx)
{
	static const char text[] = "launch %llu";

	bpf_trace_printk(text, sizeof(text), ctx->launch);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
