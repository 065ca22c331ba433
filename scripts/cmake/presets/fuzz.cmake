# SPDX-License-Identifier: Apache-2.0
# libFuzzer programs (build/fuzz/tests/.../fuzz_*): needs clang and its runtime (libclang-rt-14-dev).
set(CMAKE_C_COMPILER clang CACHE STRING "")
set(CMAKE_CXX_COMPILER clang++ CACHE STRING "")
set(EGPU_FUZZ ON CACHE BOOL "")
# fuzzer-no-link: coverage of the parts under test, without which libFuzzer sees the driver only.
set(EGPU_SANITIZE "address,undefined,fuzzer-no-link" CACHE STRING "")
set(EGPU_CUDA_TESTS OFF CACHE STRING "")
