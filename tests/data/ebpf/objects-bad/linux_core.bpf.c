// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// refused: EGPU-B040
// with: relocates 'task_struct' of the Linux kernel
#include <egpu/bpf/egpu.bpf.h>
struct task_struct { int pid; } __attribute__((preserve_access_index));
SEC("gpu/load")
int program(struct task_struct *ctx)
{
	return ctx->pid;
}
