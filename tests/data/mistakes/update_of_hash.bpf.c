// EGPU-V052: call egpu_map_lookup_or_init and store to what it gives
// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The entry of a hash is made where it is absent, the way of Linux. Mended:
// -	egpu_count_t one = 1;
// -
// -	bpf_map_update_elem(&counts, &key, &one, BPF_NOEXIST);
// +	egpu_count_t *count = egpu_map_lookup_or_init(&counts, &key);
// +
// +	if (count)
// +		*count = 1;
#include <egpu/bpf/egpu.bpf.h>

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, egpu_kernel_id_t);
	__type(value, egpu_count_t);
} counts SEC(".maps");

SEC("gpu/mem")
int count_accesses(struct egpu_mem_ctx *ctx)
{
	egpu_kernel_id_t key = ctx->kernel;
	egpu_count_t one = 1;

	bpf_map_update_elem(&counts, &key, &one, BPF_NOEXIST);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
