# SPDX-License-Identifier: Apache-2.0
# What a build can choose, and the flags that follow.
option(EGPU_TESTS "Build the tests" ON)
option(EGPU_WERROR "Treat warnings as errors (our own builds and CI; off for packagers)" OFF)
set(EGPU_SANITIZE "" CACHE STRING "Sanitizers for everything but what is preloaded into applications: address,undefined or thread")
set(EGPU_CUDA_TESTS AUTO CACHE STRING "nvcc-built workloads and tests: AUTO (where a toolkit is found), ON, OFF")

set(EGPU_UI AUTO CACHE STRING "The window, egpu-ui: AUTO (where Qt 6 is found), ON, OFF")
set_property(CACHE EGPU_UI PROPERTY STRINGS AUTO ON OFF)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# -O2 -g1: line numbers in backtraces without the weight of full debug information.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1 -DNDEBUG")
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O2 -g1 -DNDEBUG")

add_compile_options(-Wall -Wextra)
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wconversion>)
if(EGPU_WERROR)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX,C>:-Werror>)
endif()

find_program(EGPU_CCACHE ccache)
if(EGPU_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER "${EGPU_CCACHE}")
  # Precompiled headers reach ccache only with these allowances.
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime "${EGPU_CCACHE}")
endif()
include(GNUInstallDirs)
