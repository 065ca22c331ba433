// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// As programs for bpftime are written: its sections, program names, map types and helpers, with arguments of any type.
#define BPF_NO_GLOBAL_DATA
#include "include/vmlinux.h"
#include <bpf/bpf_helpers.h>

struct sums {
	u64 threads, blocks, thread_x, block_x, block_size, grid_size, lanes, times;
};

struct {
	__uint(type, 1503);	/* BPF_MAP_TYPE_GPU_ARRAY_MAP */
	__uint(max_entries, 2);
	__type(key, u32);
	__type(value, struct sums);
} entries SEC(".maps");

struct {
	__uint(type, 1513);	/* BPF_MAP_TYPE_GPU_ARRAY_HOST_MAP */
	__uint(max_entries, 4);
	__type(key, u32);
	__type(value, u64);
} exits SEC(".maps");

static const u64 (*bpf_get_globaltimer)(void) = (void *)502;
static const u64 (*bpf_get_block_idx)(u64 *x, u64 *y, u64 *z) = (void *)503;
static const u64 (*bpf_get_block_dim)(u64 *x, u64 *y, u64 *z) = (void *)504;
static const u64 (*bpf_get_thread_idx)(u64 *x, u64 *y, u64 *z) = (void *)505;
static const u64 (*bpf_gpu_membar)(void) = (void *)506;
static const u64 (*bpf_get_grid_dim)(u64 *x, u64 *y, u64 *z) = (void *)508;
static const u64 (*bpf_get_sm_id)(void) = (void *)509;
static const u64 (*bpf_get_warp_id)(void) = (void *)510;
static const u64 (*bpf_get_lane_id)(void) = (void *)511;

SEC("kprobe/_Z10vector_addPKfS0_Pfj")
int cuda__entry()
{
	u64 x, y, z, block_x, block_y, block_z, size_x, size_y, size_z, grid_x, grid_y, grid_z;
	u32 key = 0;
	struct sums *sums = bpf_map_lookup_elem(&entries, &key);

	if (!sums)
		return 0;
	bpf_get_thread_idx(&x, &y, &z);
	bpf_get_block_idx(&block_x, &block_y, &block_z);
	bpf_get_block_dim(&size_x, &size_y, &size_z);
	bpf_get_grid_dim(&grid_x, &grid_y, &grid_z);
	__sync_fetch_and_add(&sums->threads, 1);
	if (x + y + z == 0)
		__sync_fetch_and_add(&sums->blocks, 1);
	__sync_fetch_and_add(&sums->thread_x, x);
	__sync_fetch_and_add(&sums->block_x, block_x);
	__sync_fetch_and_add(&sums->block_size, size_x * size_y * size_z);
	__sync_fetch_and_add(&sums->grid_size, grid_x * grid_y * grid_z);
	__sync_fetch_and_add(&sums->lanes, bpf_get_lane_id());
	if (bpf_get_globaltimer() != 0)
		__sync_fetch_and_add(&sums->times, 1);
	return 0;
}

SEC("kretprobe/_Z10vector_addPKfS0_Pfj")
int cuda__exit(struct pt_regs *ctx)
{
	u32 key = 0;
	u64 *count = bpf_map_lookup_elem(&exits, &key);

	if (!count)
		return 0;
	__sync_fetch_and_add(count, 1);
	bpf_gpu_membar();
	key = 1;
	count = bpf_map_lookup_elem(&exits, &key);
	if (count && bpf_get_sm_id() < 1024 && bpf_get_warp_id() < 64)
		__sync_fetch_and_add(count, 1);
	key = 2;
	u64 last = 7;
	return bpf_map_update_elem(&exits, &key, &last, (u64)BPF_ANY);
}

char LICENSE[] SEC("license") = "GPL";
