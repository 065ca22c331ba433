// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// No NULL check.
#include <egpu/bpf/egpu.bpf.h>

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 16);
	__type(key, egpu_kernel_id_t);
	__type(value, egpu_count_t);
} warps SEC(".maps");

SEC("gpu.warp/kernel_entry")
int unchecked(struct egpu_kernel_ctx* ctx) {
	egpu_kernel_id_t kernel = ctx->kernel;
	egpu_count_t* count = egpu_map_lookup_or_init(&warps, &kernel);

	__sync_fetch_and_add(count, 1);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
