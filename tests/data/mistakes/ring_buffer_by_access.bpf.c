// EGPU-V022: count in a BPF_MAP_TYPE_HASH whose key says what is to be told apart
// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Each access is to be sent to the host. Mended:
// -struct {
// -	__uint(type, BPF_MAP_TYPE_RINGBUF);
// -	__uint(max_entries, 65536);
// -} events SEC(".maps");
// +struct {
// +	__uint(type, BPF_MAP_TYPE_HASH);
// +	__uint(max_entries, 65536);
// +	__type(key, egpu_address_t);
// +	__type(value, egpu_count_t);
// +} pages SEC(".maps");
// -	__u64 page = ctx->address >> 12 << 12;
// -
// -	bpf_ringbuf_output(&events, &page, sizeof(page), 0);
// +	egpu_address_t page = ctx->address >> 12 << 12;
// +	egpu_count_t *count = egpu_map_lookup_or_init(&pages, &page);
// +
// +	if (count)
// +		__sync_fetch_and_add(count, 1);
#include <egpu/bpf/egpu.bpf.h>

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 65536);
} events SEC(".maps");

SEC("gpu/mem.global")
int send_page(struct egpu_mem_ctx *ctx)
{
	__u64 page = ctx->address >> 12 << 12;

	bpf_ringbuf_output(&events, &page, sizeof(page), 0);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
