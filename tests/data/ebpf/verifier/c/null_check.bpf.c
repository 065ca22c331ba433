// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The NULL check is missing.
#include <egpu/bpf/egpu.bpf.h>

struct traffic_key {
	egpu_kernel_id_t kernel;
	enum egpu_space space;
};

struct traffic {
	egpu_bytes_t requested_bytes;
	egpu_count_t accesses;
	egpu_count_t by_space[4];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, struct traffic_key);
	__type(value, struct traffic);
} traffic SEC(".maps");

SEC("gpu/mem")
int count_traffic(struct egpu_mem_ctx *ctx)
{
	struct traffic_key key = { ctx->kernel, ctx->space };
	struct traffic *t = bpf_map_lookup_elem(&traffic, &key);

	__sync_fetch_and_add(&t->requested_bytes, ctx->bytes);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
