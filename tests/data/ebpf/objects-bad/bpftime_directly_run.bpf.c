// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// refused: EGPU-B016
// with: makes a kernel of the program, and egpu starts no kernels
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
SEC("kprobe/__directly_run")
int cuda__run(void *ctx)
{
	return 0;
}
