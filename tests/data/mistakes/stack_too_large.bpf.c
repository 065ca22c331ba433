// EGPU-V024: use smaller variables, or a map
// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Two functions whose variables do not fit the stack together. Mended:
// -	volatile __u64 table[40];
// -
// -	for (int i = 0; i < 40; i++)
// +	volatile __u64 table[32];
// +
// +	for (int i = 0; i < 32; i++)
// -	volatile __u64 kept[30];
// +	volatile __u64 kept[16];
// -	for (int i = 0; i < 30; i++)
// +	for (int i = 0; i < 16; i++)
#include <egpu/bpf/egpu.bpf.h>

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, egpu_kernel_id_t);
	__type(value, egpu_count_t);
} counts SEC(".maps");

static __noinline __u64 table_of(__u64 seed, __u32 index)
{
	volatile __u64 table[40];

	for (int i = 0; i < 40; i++)
		table[i] = seed + i;
	return table[index & 31];
}

SEC("gpu/kernel_entry")
int sum(struct egpu_kernel_ctx *ctx)
{
	volatile __u64 kept[30];
	egpu_kernel_id_t key = ctx->kernel;
	egpu_count_t *count = egpu_map_lookup_or_init(&counts, &key);

	for (int i = 0; i < 30; i++)
		kept[i] = i;
	__u64 found = table_of(ctx->launch, ctx->warp);
	if (count)
		__sync_fetch_and_add(count, found + kept[ctx->lane & 15]);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
