/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Everything an eBPF program needs to run in a GPU kernel.
 *
 *   clang -target bpf -g -O2 -I<prefix>/include -c hello.bpf.c
 *
 * Self-contained: needs neither vmlinux.h nor kernel headers. If vmlinux.h or
 * <linux/bpf.h> was included before, their types are used. */
#ifndef EGPU_BPF_H
#define EGPU_BPF_H

#if !defined(__VMLINUX_H__) && !defined(_UAPI__LINUX_BPF_H__) && !defined(__LINUX_BPF_H__)
typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed char __s8;
typedef short __s16;
typedef int __s32;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_HASH = 5,	/* on a GPU: one copy per SM */
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,	/* on a GPU: one copy per SM */
	BPF_MAP_TYPE_LRU_HASH = 9,	/* not in 0.1: refused */
	BPF_MAP_TYPE_RINGBUF = 27,	/* max_entries: its bytes */
};
enum { BPF_ANY = 0, BPF_NOEXIST = 1, BPF_EXIST = 2 };
#endif
#if !defined(__VMLINUX_H__) && !defined(bool) && __STDC_VERSION__ < 202311L	/* C23 has the word */
typedef _Bool bool;
#define true 1
#define false 0
#endif

#include <bpf/bpf_helpers.h>

/* ---- types whose names mean something ------------------------------------
 * egpu reads them from BTF. Used in a map's key they become labels (a kernel's
 * name, a source line, "global"); used in its value they become units. */
typedef __u32 egpu_kernel_id_t;
typedef __u32 egpu_site_id_t;
typedef __u32 egpu_sm_id_t;
typedef __u64 egpu_launch_id_t;
typedef __u64 egpu_address_t;
typedef __u64 egpu_count_t;	/* counter, no unit */
typedef __u64 egpu_bytes_t;	/* counter, bytes */
typedef __u64 egpu_cycles_t;	/* SM clock cycles */
typedef __u64 egpu_ns_t;	/* nanoseconds of the session clock */

struct egpu_log2_cycles { egpu_count_t slot[64]; };	/* slot i: [2^i, 2^(i+1)) */
struct egpu_log2_ns { egpu_count_t slot[64]; };
struct egpu_log2_bytes { egpu_count_t slot[64]; };

enum egpu_space { EGPU_SPACE_GLOBAL, EGPU_SPACE_SHARED, EGPU_SPACE_LOCAL, EGPU_SPACE_CONST, EGPU_SPACE_GENERIC };
enum egpu_access { EGPU_LOAD, EGPU_STORE, EGPU_ATOMIC };

struct egpu_dim3 { __u32 x, y, z; };

/* Map flags: where a map lives. Default: GPU memory, one copy per SM for PERCPU types. */
enum { EGPU_F_MAPPED = 1 << 28, EGPU_F_LINUX = 1 << 29 };

/* ---- contexts --------------------------------------------------------------
 * Offsets are relocated by name when the object is loaded (CO-RE), so contexts
 * can grow without breaking an old object. You pay only for fields you read.
 *   site: the same every time at one place in the code; folded to a constant
 *   warp: the same for all lanes            lane: differs from lane to lane */
#define EGPU_CTX __attribute__((preserve_access_index))

#define EGPU_COMMON_FIELDS							\
	egpu_kernel_id_t kernel;	/* site */				\
	egpu_site_id_t site;		/* site */				\
	egpu_launch_id_t launch;	/* warp */				\
	egpu_sm_id_t sm;		/* warp */				\
	__u32 device;			/* warp */				\
	__u32 warp;			/* warp; index in its block */		\
	__u32 active_mask;		/* warp; lanes that execute the site */	\
	__u32 active_lanes;		/* warp; popcount of active_mask */	\
	__u32 lane;			/* lane */				\
	struct egpu_dim3 grid_dim;	/* warp */				\
	struct egpu_dim3 block_dim;	/* warp */				\
	struct egpu_dim3 block;		/* warp */				\
	struct egpu_dim3 thread		/* lane */

struct egpu_kernel_ctx {		/* kernel_entry, kernel_exit, barrier, branch, basic_block, call, mma, instruction */
	EGPU_COMMON_FIELDS;
	egpu_ns_t elapsed;		/* warp; gpu.grid/kernel_exit only: since the launch's first thread entered */
} EGPU_CTX;

struct egpu_mem_ctx {			/* load, store, atomic, mem, async_copy, load_return, atomic_return */
	EGPU_COMMON_FIELDS;
	enum egpu_space space;		/* site; a generic address is resolved when read */
	enum egpu_access access;	/* site */
	__u32 bytes_per_lane;		/* site; element size x vector width; lane at async_copy: what the lane copies */
	egpu_address_t address;		/* lane; in a per-warp program: the leader's */
	__u32 bytes;			/* warp; bytes_per_lane x lanes that fire: all of the warp's, or 1 */
	__u32 sectors;			/* warp; distinct 32-byte sectors (global, local); gpu.warp only */
	egpu_cycles_t latency;		/* warp, in a program of each thread the lane's own; _return only: from issue to value */
} EGPU_CTX;

#define EGPU_OPTION(type, name, value, help) \
	const volatile type name __attribute__((btf_decl_tag("egpu.help:" help))) = value

/* ---- helpers: made from core/ebpf/helpers; README.md beside this file --------- */

/* SM clock, cycles. */
static __u64 (*const egpu_clock)(void) = (void *)0x10001;

/* Session clock, ns: the GPU's globaltimer fitted to CLOCK_MONOTONIC. */
static __u64 (*const egpu_time_ns)(void) = (void *)0x10002;

/* The value for a key, made of zeroes when absent; NULL only when the map is
 * full (counted, and shown). A key of "site" fields only costs nothing: its
 * entry is made when the probe is attached, its address is a constant. Any other
 * key of a hash is searched for each time, an index of an array is computed. */
static void *(*const egpu_map_lookup_or_init)(void *map, const void *key) = (void *)0x10003;

/* The lane's value loaded, stored or exchanged; size is a constant, 1 to 16.
 * Where the access moves more bytes than that, the first ones; where it moves
 * fewer, zeroes follow them. 0 in both cases, or -EINVAL where the event has
 * none (a load before it is done). */
static long (*const egpu_value)(void *ctx, void *to, __u32 size) = (void *)0x10004;

/* The n-th kernel parameter's bytes, n a constant; only for parameters of up to 8 bytes. */
static __u64 (*const egpu_arg)(void *ctx, __u32 n) = (void *)0x10005;

/* Makes a word of a map's value (8 or 4 bytes) the smaller or the larger of both,
 * at once for all threads, unsigned; gives the word before. Values begin as 0, so
 * 0 stands for "no number yet": egpu_min leaves a value of 0 out, and a word of 0
 * takes any. Not in per-SM maps: the copies of those are added up. */
static __u64 (*const egpu_min)(void *word, __u64 value, __u32 bytes) = (void *)0x10006;
static __u64 (*const egpu_max)(void *word, __u64 value, __u32 bytes) = (void *)0x10007;
#define egpu_min(word, value) egpu_min(word, value, sizeof(*(word)))
#define egpu_max(word, value) egpu_max(word, value, sizeof(*(word)))

/* The sum, the smallest, the largest of a value over all lanes that fire together,
 * unsigned; the same for each of them. All of them must come to the call: not in
 * gpu.warp programs, and not behind a branch that depends on the lane. */
static __u64 (*const egpu_lanes_sum)(__u64 value) = (void *)0x10008;
static __u64 (*const egpu_lanes_min)(__u64 value) = (void *)0x10009;
static __u64 (*const egpu_lanes_max)(__u64 value) = (void *)0x1000a;
/* clang would make one call of those in both branches of an if: others would come. */
#define EGPU_IN_PLACE(number, call) ({						\
	__asm__ volatile("" : : "i"(number));					\
	__u64 egpu_result = call;						\
	__asm__ volatile("" : "+r"(egpu_result) : "i"(number));			\
	egpu_result; })
#define egpu_lanes_sum(value) EGPU_IN_PLACE(__COUNTER__, egpu_lanes_sum(value))
#define egpu_lanes_min(value) EGPU_IN_PLACE(__COUNTER__, egpu_lanes_min(value))
#define egpu_lanes_max(value) EGPU_IN_PLACE(__COUNTER__, egpu_lanes_max(value))

static __always_inline void egpu_log2_add(egpu_count_t *slot, __u64 value)
{
	__u32 i = 0;
	if (value >> 32) { value >>= 32; i += 32; }
	if (value >> 16) { value >>= 16; i += 16; }
	if (value >> 8)  { value >>= 8;  i += 8; }
	if (value >> 4)  { value >>= 4;  i += 4; }
	if (value >> 2)  { value >>= 2;  i += 2; }
	if (value >> 1)  { i += 1; }
	__sync_fetch_and_add(&slot[i & 63], 1);
}
#endif
