# SPDX-License-Identifier: Apache-2.0
# Everything, with warnings as errors: what scripts/test and CI build.
set(EGPU_WERROR ON CACHE BOOL "")
