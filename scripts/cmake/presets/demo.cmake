# SPDX-License-Identifier: Apache-2.0
# Only what `egpu demo` needs: no tests, no debug information, no nvcc-built programs.
set(CMAKE_BUILD_TYPE Release CACHE STRING "")
set(EGPU_TESTS OFF CACHE BOOL "")
set(EGPU_CUDA_TESTS OFF CACHE STRING "")
# Several files to a unit: half the time. Parts whose files use the same private names say NO_UNITY.
set(EGPU_UNITY ON CACHE BOOL "")
set(EGPU_UI OFF CACHE STRING "")
