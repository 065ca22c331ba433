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

# What people read, and the files that it links to, placed as in the source tree so that relative links work.
file(GLOB_RECURSE documents CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}"
  "core/*.md" "plugins/*.md" "plugins/*.bpf.c" "plugins/template/*" "configs/*.md" "configs/*.yaml" "configs/*.json" "ui/*.md")
file(GLOB tested CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}"
  ".github/*.md" "ui/pictures/*.png" "tests/*.md" "tests/*/*.md" "tests/data/*/*.md" "tests/bench/results/*.md")
foreach(document IN LISTS documents tested
                    ITEMS README.md LICENSE core/include/egpu/plugin.h core/include/egpu/bpf/egpu.bpf.h)
  get_filename_component(folder "${document}" DIRECTORY)
  install(FILES "${document}" DESTINATION "${CMAKE_INSTALL_DOCDIR}/${folder}")
endforeach()
