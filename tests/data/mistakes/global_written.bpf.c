// EGPU-V014: __sync_fetch_and_add
// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A counter in a global variable, added to as if one thread ran. Mended:
// -	total += ctx->active_lanes;
// +	__sync_fetch_and_add(&total, ctx->active_lanes);
#include <egpu/bpf/egpu.bpf.h>

__u64 total;

SEC("gpu.warp/mem")
int count_accesses(struct egpu_mem_ctx *ctx)
{
	total += ctx->active_lanes;
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
