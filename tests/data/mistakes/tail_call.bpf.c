// EGPU-B021: call a static function instead
// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A program that goes on in another. Mended:
// -struct {
// -	__uint(type, 3); /* BPF_MAP_TYPE_PROG_ARRAY */
// -	__uint(max_entries, 2);
// -	__type(key, __u32);
// -	__type(value, __u32);
// -} programs SEC(".maps");
// +static int loads(void) { return 0; }
// +static int stores(void) { return 0; }
// -	bpf_tail_call(ctx, &programs, ctx->access);
// -	return 0;
// +	return ctx->access == EGPU_LOAD ? loads() : stores();
#include <egpu/bpf/egpu.bpf.h>

struct {
	__uint(type, 3); /* BPF_MAP_TYPE_PROG_ARRAY */
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, __u32);
} programs SEC(".maps");

SEC("gpu/mem")
int choose(struct egpu_mem_ctx *ctx)
{
	bpf_tail_call(ctx, &programs, ctx->access);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
