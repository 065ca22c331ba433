// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// How long each launch of a kernel takes on the GPU, from the first thread to enter to the last to leave: how often and
// how long altogether, and a log2 histogram.
#include <egpu/bpf/egpu.bpf.h>

struct launch_times {
	egpu_count_t launches;		// that were followed to their last thread
	egpu_ns_t kernel_time;		// of all of them together
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 1024);
	__type(key, egpu_kernel_id_t);		// shown as the kernel's name
	__type(value, struct launch_times);
} kernel_times SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 1024);
	__type(key, egpu_kernel_id_t);
	__type(value, struct egpu_log2_ns);
} kernel_time_log2 SEC(".maps");

// Runs once a launch, in the last thread that leaves.
SEC("gpu.grid/kernel_exit")
int on_kernel_exit(struct egpu_kernel_ctx *ctx)
{
	egpu_kernel_id_t kernel = ctx->kernel;
	egpu_ns_t ns = ctx->elapsed;
	struct launch_times *times = egpu_map_lookup_or_init(&kernel_times, &kernel);
	struct egpu_log2_ns *h = egpu_map_lookup_or_init(&kernel_time_log2, &kernel);

	if (times) {
		__sync_fetch_and_add(&times->launches, 1);
		__sync_fetch_and_add(&times->kernel_time, ns);
	}
	if (h)
		egpu_log2_add(h->slot, ns);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
