// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The header alone, with both contexts in its BTF.
#include <egpu/bpf/egpu.bpf.h>

struct egpu_kernel_ctx *kernel_context(void *p) { return p; }
struct egpu_mem_ctx *mem_context(void *p) { return p; }
