// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// refused: EGPU-B040
// with: 'task_struct' is not a context of egpu
#include <egpu/bpf/egpu.bpf.h>
struct task_struct { int pid; } __attribute__((preserve_access_index));
SEC("gpu/load")
int program(void *ctx)
{
	return ((struct task_struct *)ctx)->pid;
}
