// EGPU-V023: write it as a loop with a fixed bound
// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A function that calls itself. Mended:
// -	if (n == 0)
// -		return 0;
// -	return n * sum_to(n / 2) + egpu_clock();
// +	__u64 sum = 0;
// +
// +	for (int i = 0; i < 16 && n != 0; i++, n /= 2)
// +		sum += n * egpu_clock();
// +	return sum;
#include <egpu/bpf/egpu.bpf.h>

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, egpu_kernel_id_t);
	__type(value, egpu_count_t);
} counts SEC(".maps");

static __noinline __u64 sum_to(__u64 n)
{
	if (n == 0)
		return 0;
	return n * sum_to(n / 2) + egpu_clock();
}

SEC("gpu/kernel_entry")
int sum(struct egpu_kernel_ctx *ctx)
{
	egpu_kernel_id_t key = ctx->kernel;
	egpu_count_t *count = egpu_map_lookup_or_init(&counts, &key);

	if (count)
		__sync_fetch_and_add(count, sum_to(ctx->warp));
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
