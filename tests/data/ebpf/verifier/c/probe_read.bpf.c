// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Memory of the application, by a helper.
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
	__u64 word = 0;
	struct traffic_key key = { ctx->kernel, ctx->space };
	struct traffic *t = bpf_map_lookup_elem(&traffic, &key);

	bpf_probe_read_kernel(&word, sizeof(word), (void *)ctx->address);
	if (t)
		__sync_fetch_and_add(&t->accesses, word);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
