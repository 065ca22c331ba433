# SPDX-License-Identifier: Apache-2.0
# The SDK for plugins: the functions as this tree uses them for its own plugins, and what is installed for others.
include(CMakePackageConfigHelpers)

set(EGPU_SDK_DIR "${PROJECT_SOURCE_DIR}/scripts/cmake/sdk")
set(EGPU_INCLUDE_DIR "${PROJECT_SOURCE_DIR}/core/include")
set(EGPU_PROGRAM "${CMAKE_BINARY_DIR}/bin/egpu")
set(EGPU_PROGRAM_TARGET egpu)
function(_egpu_compile_program out source)
  egpu_bpf_object(object "${source}")
  set(${out} "${object}" PARENT_SCOPE)
endfunction()
include("${EGPU_SDK_DIR}/EgpuPlugin.cmake")

set(EGPU_CMAKE_DIR "${CMAKE_INSTALL_LIBDIR}/cmake/egpu")
configure_package_config_file("${EGPU_SDK_DIR}/egpuConfig.cmake.in" "${CMAKE_BINARY_DIR}/sdk/egpuConfig.cmake"
  INSTALL_DESTINATION "${EGPU_CMAKE_DIR}"
  PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_BINDIR CMAKE_INSTALL_LIBDIR)
# 0.y: a minor version may change the ABI.
write_basic_package_version_file("${CMAKE_BINARY_DIR}/sdk/egpuConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
file(RELATIVE_PATH EGPU_PC_TO_PREFIX "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
string(REGEX REPLACE "/$" "" EGPU_PC_TO_PREFIX "${EGPU_PC_TO_PREFIX}")
configure_file("${EGPU_SDK_DIR}/egpu.pc.in" "${CMAKE_BINARY_DIR}/sdk/egpu.pc" @ONLY)
install(FILES "${CMAKE_BINARY_DIR}/sdk/egpuConfig.cmake" "${CMAKE_BINARY_DIR}/sdk/egpuConfigVersion.cmake"
              "${EGPU_SDK_DIR}/EgpuPlugin.cmake" "${EGPU_SDK_DIR}/plugin.map" DESTINATION "${EGPU_CMAKE_DIR}")
install(FILES "${CMAKE_BINARY_DIR}/sdk/egpu.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
install(DIRECTORY plugins/template/ DESTINATION ${CMAKE_INSTALL_DATADIR}/egpu/template)
file(MAKE_DIRECTORY "${CMAKE_BINARY_DIR}/share/egpu")
file(CREATE_LINK "${PROJECT_SOURCE_DIR}/plugins/template" "${CMAKE_BINARY_DIR}/share/egpu/template" SYMBOLIC)
