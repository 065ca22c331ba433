// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A global variable is one value for all threads, as an array's.
#include <egpu/bpf/egpu.bpf.h>

egpu_bytes_t total;

SEC("gpu/load")
int count(struct egpu_mem_ctx *ctx)
{
	total += ctx->bytes_per_lane;
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
