// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// refused: EGPU-B024
// with: has too many members
// Structs that hold nothing, 64^4 of them: a walk without a limit would visit them all.
#include <egpu/bpf/egpu.bpf.h>
#define FOUR(t, n) t n##a; t n##b; t n##c; t n##d;
#define MANY(t) FOUR(t, a) FOUR(t, b) FOUR(t, c) FOUR(t, d) FOUR(t, e) FOUR(t, f) FOUR(t, g) FOUR(t, h) \
	FOUR(t, i) FOUR(t, j) FOUR(t, k) FOUR(t, l) FOUR(t, m) FOUR(t, n) FOUR(t, o) FOUR(t, p)
struct nothing { };
struct much_1 { MANY(struct nothing) };
struct much_2 { MANY(struct much_1) };
struct much_3 { MANY(struct much_2) };
struct value { __u32 number; MANY(struct much_3) };
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct value);
} counts SEC(".maps");
SEC("gpu/load")
int program(struct egpu_mem_ctx *ctx)
{
	return 0;
}
