# SPDX-License-Identifier: Apache-2.0
# What a packager builds: no tests, no debug information.
set(CMAKE_BUILD_TYPE Release CACHE STRING "")
set(EGPU_TESTS OFF CACHE BOOL "")
