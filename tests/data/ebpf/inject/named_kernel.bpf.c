// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// For kernels of some names only.
#include <egpu/bpf/egpu.bpf.h>

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, egpu_count_t);
} entered SEC(".maps");

SEC("gpu/kernel_entry/*gemm*")
int count_gemms(struct egpu_kernel_ctx *ctx)
{
	__u32 zero = 0;
	egpu_count_t *n = bpf_map_lookup_elem(&entered, &zero);

	if (n)
		__sync_fetch_and_add(n, 1);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
