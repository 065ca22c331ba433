// EGPU-V003: __builtin_memset(&key, 0, sizeof(key))
// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Bytes between the members of a key were never set. Mended:
// -	key.kernel = ctx->kernel;
// +	__builtin_memset(&key, 0, sizeof(key));
// +	key.kernel = ctx->kernel;
#include <egpu/bpf/egpu.bpf.h>

struct key {
	egpu_kernel_id_t kernel;
	__u8 access;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, struct key);
	__type(value, egpu_count_t);
} counts SEC(".maps");

SEC("gpu/mem")
int count_accesses(struct egpu_mem_ctx *ctx)
{
	struct key key;

	key.kernel = ctx->kernel;
	key.access = ctx->access;
	egpu_count_t *count = egpu_map_lookup_or_init(&counts, &key);
	if (count)
		__sync_fetch_and_add(count, 1);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
