# SPDX-License-Identifier: Apache-2.0
# ThreadSanitizer, where threads meet: segment, simulated GPU.
set(EGPU_WERROR ON CACHE BOOL "")
set(EGPU_SANITIZE "thread" CACHE STRING "")
set(EGPU_CUDA_TESTS OFF CACHE STRING "")
