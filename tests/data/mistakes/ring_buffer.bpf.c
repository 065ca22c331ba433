// EGPU-V022: count in a BPF_MAP_TYPE_HASH
// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Events in a ring buffer. Mended:
// -struct {
// -	__uint(type, BPF_MAP_TYPE_RINGBUF);
// -	__uint(max_entries, 65536);
// -} events SEC(".maps");
// +struct {
// +	__uint(type, BPF_MAP_TYPE_HASH);
// +	__uint(max_entries, 64);
// +	__type(key, egpu_kernel_id_t);
// +	__type(value, egpu_count_t);
// +} counts SEC(".maps");
// -	__u64 launch = ctx->launch;
// -
// -	bpf_ringbuf_output(&events, &launch, sizeof(launch), 0);
// +	egpu_kernel_id_t key = ctx->kernel;
// +	egpu_count_t *count = egpu_map_lookup_or_init(&counts, &key);
// +
// +	if (count)
// +		__sync_fetch_and_add(count, 1);
#include <egpu/bpf/egpu.bpf.h>

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 65536);
} events SEC(".maps");

SEC("gpu.grid/kernel_entry")
int say(struct egpu_kernel_ctx *ctx)
{
	__u64 launch = ctx->launch;

	bpf_ringbuf_output(&events, &launch, sizeof(launch), 0);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
