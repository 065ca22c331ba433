// EGPU-V014: egpu_max(word, value) keeps a maximum, egpu_min a minimum, __sync_fetch_and_add a count, all at once
// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A maximum, by an exchange of the larger. Mended:
// -	if (found < ctx->bytes)
// -		found = ctx->bytes;
// -	__sync_lock_test_and_set(most, found);
// +	egpu_max(most, ctx->bytes);
#include <egpu/bpf/egpu.bpf.h>

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, egpu_kernel_id_t);
	__type(value, egpu_count_t);
} counts SEC(".maps");

SEC("gpu/mem")
int largest(struct egpu_mem_ctx *ctx)
{
	egpu_kernel_id_t key = ctx->kernel;
	egpu_count_t *most = egpu_map_lookup_or_init(&counts, &key);
	__u64 found;

	if (!most)
		return 0;
	found = *most;
	if (found < ctx->bytes)
		found = ctx->bytes;
	__sync_lock_test_and_set(most, found);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
