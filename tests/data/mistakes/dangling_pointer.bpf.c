// EGPU-V020: store the value there
// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A function gives its caller a pointer to its own variable. Mended:
// -	volatile __u64 mine = number;
// -
// -	*to = (__u64 *)&mine;
// +	*to = number;
// -static __noinline int fill(__u64 **to, __u64 number)
// +static __noinline int fill(__u64 *to, __u64 number)
// -	__u64 *number;
// +	__u64 number;
// -		__sync_fetch_and_add(count, *number);
// +		__sync_fetch_and_add(count, number);
#include <egpu/bpf/egpu.bpf.h>

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, egpu_kernel_id_t);
	__type(value, egpu_count_t);
} counts SEC(".maps");

static __noinline int fill(__u64 **to, __u64 number)
{
	volatile __u64 mine = number;

	*to = (__u64 *)&mine;
	return 0;
}

SEC("gpu/mem")
int count_accesses(struct egpu_mem_ctx *ctx)
{
	egpu_kernel_id_t key = ctx->kernel;
	egpu_count_t *count = egpu_map_lookup_or_init(&counts, &key);
	__u64 *number;

	fill(&number, ctx->bytes);
	if (count)
		__sync_fetch_and_add(count, *number);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
