# SPDX-License-Identifier: Apache-2.0
# Headers of the SDK; everything else is installed where it is built.
install(DIRECTORY core/include/egpu DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")

# A build tree is laid out as an installation: bin/, lib/egpu/, include/.
file(CREATE_LINK "${PROJECT_SOURCE_DIR}/core/include" "${CMAKE_BINARY_DIR}/include" SYMBOLIC)

# What `egpu demo` needs, and nothing else.
add_custom_target(egpu-demo)
foreach(target IN ITEMS egpu egpu-driver-compile egpu_plugins egpu_probesets egpu_agent libcuda libcudart egpu-workload)
  if(TARGET ${target})
    add_dependencies(egpu-demo ${target})
  endif()
endforeach()
