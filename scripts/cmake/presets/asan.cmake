# SPDX-License-Identifier: Apache-2.0
# AddressSanitizer and UndefinedBehaviorSanitizer for all but what is preloaded into applications.
set(EGPU_WERROR ON CACHE BOOL "")
set(EGPU_SANITIZE "address,undefined" CACHE STRING "")
set(EGPU_CUDA_TESTS OFF CACHE STRING "")
# As in the demo: several files to a unit, half the time.
set(EGPU_UNITY ON CACHE BOOL "")
