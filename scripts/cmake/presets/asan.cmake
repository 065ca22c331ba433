# SPDX-License-Identifier: Apache-2.0
# AddressSanitizer and UndefinedBehaviorSanitizer for all but what is preloaded into applications. By clang at -O1: g++
# takes four times as long for the same checks.
set(CMAKE_C_COMPILER clang CACHE STRING "")
set(CMAKE_CXX_COMPILER clang++ CACHE STRING "")
set(CMAKE_BUILD_TYPE Sanitized CACHE STRING "")
set(CMAKE_C_FLAGS_SANITIZED "-O1 -g1" CACHE STRING "")
set(CMAKE_CXX_FLAGS_SANITIZED "-O1 -g1" CACHE STRING "")
set(EGPU_WERROR ON CACHE BOOL "")
set(EGPU_SANITIZE "address,undefined" CACHE STRING "")
set(EGPU_CUDA_TESTS OFF CACHE STRING "")
# Several files to a unit, as for the demo.
set(EGPU_UNITY ON CACHE BOOL "")
