// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// refused: EGPU-B022
// with: has 5000 bytes
#include <egpu/bpf/egpu.bpf.h>
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 5000);
} events SEC(".maps");
SEC("gpu/load")
int program(struct egpu_mem_ctx *ctx)
{
	return 0;
}
