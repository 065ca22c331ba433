// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// What authors write and must be accepted, whatever instruction set clang is asked for.
#include <egpu/bpf/egpu.bpf.h>

EGPU_OPTION(__u32, threshold, 16, "lanes below which an access counts as sparse");

struct slots {
	egpu_count_t slot[32];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct slots);
} lanes SEC(".maps");

struct last {
	__u64 launch;
	__u32 warp;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, egpu_site_id_t);
	__type(value, struct last);
} last_seen SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 64);
	__type(key, egpu_site_id_t);
	__type(value, struct egpu_log2_bytes);
} sizes SEC(".maps");

static const __u32 weights[4] = { 1, 2, 4, 8 };

// An index bounded by what the field means, and an option.
SEC("gpu.warp/mem")
int by_lanes(struct egpu_mem_ctx *ctx)
{
	__u32 zero = 0;
	struct slots *s = egpu_map_lookup_or_init(&lanes, &zero);

	if (!s || ctx->active_lanes == 0)
		return 0;
	if (ctx->active_lanes < threshold)
		__sync_fetch_and_add(&s->slot[ctx->active_lanes - 1], 1);
	return 0;
}

// A bound by comparison, a loop that clang may leave a loop, a table.
SEC("gpu/load")
int by_weight(struct egpu_mem_ctx *ctx)
{
	__u32 zero = 0, i = ctx->warp;
	struct slots *s = egpu_map_lookup_or_init(&lanes, &zero);

	if (!s)
		return 0;
	if (i < 32)
		__sync_fetch_and_add(&s->slot[i], weights[ctx->warp & 3]);
#pragma clang loop unroll(disable)
	for (int n = 0; n < 8; n++)
		__sync_fetch_and_add(&s->slot[n * 2], ctx->bytes_per_lane >> n);
	return 0;
}

// Plain stores of what doesn't come from the same value; two histograms in a row.
SEC("gpu.warp/store.global")
int remember(struct egpu_mem_ctx *ctx)
{
	egpu_site_id_t site = ctx->site;
	struct last *l = egpu_map_lookup_or_init(&last_seen, &site);
	struct egpu_log2_bytes *h = egpu_map_lookup_or_init(&sizes, &site);

	if (l) {
		l->launch = ctx->launch;
		l->warp = ctx->warp;
	}
	if (h) {
		egpu_log2_add(h->slot, ctx->bytes);
		egpu_log2_add(h->slot, ctx->sectors);
	}
	return 0;
}

// The value itself, through a function that isn't inlined.
static __attribute__((noinline)) __u64 magnitude(__u64 value)
{
	return value >> 63 ? -value : value;
}

SEC("gpu/load_return.global")
int by_value(struct egpu_mem_ctx *ctx)
{
	egpu_site_id_t site = ctx->site;
	__u64 value = 0;
	struct egpu_log2_bytes *h;

	if (egpu_value(ctx, &value, sizeof(value)))
		return 0;
	h = egpu_map_lookup_or_init(&sizes, &site);
	if (h)
		egpu_log2_add(h->slot, magnitude(value));
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
