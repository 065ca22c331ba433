# SPDX-License-Identifier: Apache-2.0
# Only what `egpu demo` needs: no tests, no debug information, no nvcc-built programs.
set(CMAKE_BUILD_TYPE Release CACHE STRING "")
set(EGPU_TESTS OFF CACHE BOOL "")
set(EGPU_CUDA_TESTS OFF CACHE STRING "")
