// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// refused: EGPU-B004
// with: no program for a GPU
#include <egpu/bpf/egpu.bpf.h>
SEC("uprobe")
int program(void *ctx)
{
	return 0;
}
