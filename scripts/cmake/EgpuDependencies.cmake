# SPDX-License-Identifier: Apache-2.0
# Every library egpu builds with: system packages only, nothing is fetched.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(Boost 1.74 REQUIRED)
find_package(yaml-cpp 0.7 REQUIRED)
pkg_check_modules(LIBBPF REQUIRED IMPORTED_TARGET libbpf>=1.1)
pkg_check_modules(LIBELF REQUIRED IMPORTED_TARGET libelf)
pkg_check_modules(RE2 REQUIRED IMPORTED_TARGET re2)
# Its -pthread defines _REENTRANT, with which the precompiled header of all parts does not go together.
set_property(TARGET PkgConfig::RE2 PROPERTY INTERFACE_COMPILE_OPTIONS)
pkg_check_modules(LZ4 REQUIRED IMPORTED_TARGET liblz4)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(SQLITE REQUIRED IMPORTED_TARGET sqlite3>=3.38)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)

# clang compiles eBPF programs and the workloads' device code.
find_program(EGPU_CLANG NAMES clang-19 clang-18 clang-17 clang-16 clang-15 clang-14 clang REQUIRED)
# ptxas is the oracle for the text we generate; optional.
find_program(EGPU_PTXAS ptxas HINTS /usr/local/cuda/bin ENV CUDA_HOME PATH_SUFFIXES bin)
find_program(EGPU_NVCC nvcc HINTS /usr/local/cuda/bin ENV CUDA_HOME PATH_SUFFIXES bin)
if(EGPU_CUDA_TESTS STREQUAL "OFF")
  set(EGPU_NVCC "EGPU_NVCC-NOTFOUND")
elseif(EGPU_CUDA_TESTS STREQUAL "ON" AND NOT EGPU_NVCC)
  message(FATAL_ERROR "EGPU_CUDA_TESTS=ON needs nvcc; none was found")
endif()

# The window. Where it is not built, `egpu ui` says so.
if(NOT EGPU_UI STREQUAL "OFF")
  set(required)
  if(EGPU_UI STREQUAL "ON")
    set(required REQUIRED)
  endif()
  find_package(Qt6 6.4 ${required} QUIET COMPONENTS Widgets)
endif()
