# SPDX-License-Identifier: Apache-2.0
# ThreadSanitizer, where threads meet: segment, simulated GPU.
set(EGPU_WERROR ON CACHE BOOL "")
set(EGPU_SANITIZE "thread" CACHE STRING "")
set(EGPU_CUDA_TESTS OFF CACHE STRING "")
# It sees no fences; what they order is read and written as atomics here, so that it has nothing to miss.
set(CMAKE_CXX_FLAGS "-Wno-tsan" CACHE STRING "")
