// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Cycles of global loads of 8 bytes, by site and as a fine histogram: what tests/bench/latency compares with a program's
// own clock. Loads of other sizes are left alone: a program warms its caches up with those.
#include <egpu/bpf/egpu.bpf.h>

#define BIN_CYCLES 8
#define BINS 512

struct at_site {
	egpu_count_t loads;
	egpu_cycles_t cycles;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 1024);
	__type(key, egpu_site_id_t);
	__type(value, struct at_site);
} sites SEC(".maps");

struct bin {
	egpu_count_t loads_in_bin;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, BINS);		// the last one: that many cycles or more
	__type(key, __u32);			// cycles / BIN_CYCLES
	__type(value, struct bin);
} bins SEC(".maps");

SEC("gpu.warp/load_return.global")
int time_load(struct egpu_mem_ctx *ctx)
{
	egpu_site_id_t site = ctx->site;
	__u64 cycles = ctx->latency;
	__u64 bin = cycles / BIN_CYCLES;
	__u32 index = bin < BINS ? bin : BINS - 1;
	struct at_site *s;
	struct bin *b;

	if (ctx->bytes_per_lane != 8)
		return 0;
	s = egpu_map_lookup_or_init(&sites, &site);
	if (s) {
		__sync_fetch_and_add(&s->loads, 1);
		__sync_fetch_and_add(&s->cycles, cycles);
	}
	b = bpf_map_lookup_elem(&bins, &index);
	if (b)
		__sync_fetch_and_add(&b->loads_in_bin, 1);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
