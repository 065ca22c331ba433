// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// refused: EGPU-B021
// with: map 'map' has type 1527, bpftime's ring of records per thread
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
struct {
	__uint(type, 1527);
	__uint(max_entries, 16);
	__type(key, __u32);
	__type(value, __u64);
} map SEC(".maps");
SEC("kprobe/_Z6kernelv")
int cuda__probe(void *ctx)
{
	__u32 key = 0;
	return bpf_map_lookup_elem(&map, &key) != 0;
}
