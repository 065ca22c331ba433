// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// refused: EGPU-B016
// with: names more than one kernel
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
SEC("kprobe/_Z5firstv,_Z6secondv")
int cuda__both(void *ctx)
{
	return 0;
}
