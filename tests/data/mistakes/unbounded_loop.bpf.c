// EGPU-V009: for (int i = 0; i < 16; i++), with a break inside
// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A loop that runs as often as a number of the launch says. Mended:
// -	for (__u32 i = 0; i < blocks; i++)
// -		__sync_fetch_and_add(count, i & egpu_clock());
// +	for (int i = 0; i < 16; i++) {
// +		if (i >= blocks)
// +			break;
// +		__sync_fetch_and_add(count, i & egpu_clock());
// +	}
#include <egpu/bpf/egpu.bpf.h>

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, egpu_kernel_id_t);
	__type(value, egpu_count_t);
} counts SEC(".maps");

SEC("gpu/kernel_entry")
int count_bits(struct egpu_kernel_ctx *ctx)
{
	egpu_kernel_id_t key = ctx->kernel;
	egpu_count_t *count = egpu_map_lookup_or_init(&counts, &key);
	__u32 blocks = ctx->grid_dim.x;

	if (!count)
		return 0;
	for (__u32 i = 0; i < blocks; i++)
		__sync_fetch_and_add(count, i & egpu_clock());
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
