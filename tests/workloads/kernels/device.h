/* SPDX-License-Identifier: Apache-2.0 */
/* The little of CUDA's device language that the workloads need, on clang's own builtins: no CUDA Toolkit is asked for.
 */
#pragma once

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))

/* The thread's number in a one-dimensional grid. */
#define GLOBAL_INDEX (__nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() + __nvvm_read_ptx_sreg_tid_x())
#define THREAD_INDEX __nvvm_read_ptx_sreg_tid_x()
#define BLOCK_INDEX __nvvm_read_ptx_sreg_ctaid_x()
#define BLOCK_BARRIER() __nvvm_bar_sync(0)

/* Relaxed atomic addition; the space of the address is found by the compiler. */
#define ATOMIC_ADD(address, value) __atomic_fetch_add(address, value, __ATOMIC_RELAXED)

/* The value that the lane `distance` above holds; all 32 lanes take part. */
#define SHUFFLE_DOWN(value, distance) __nvvm_shfl_sync_down_i32(0xFFFFFFFFU, value, distance, 31)

/* Loops whose accesses are counted stay as written. */
#define KEEP_LOOP _Pragma("clang loop unroll(disable) vectorize(disable)")
