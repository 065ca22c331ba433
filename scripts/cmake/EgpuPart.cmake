# SPDX-License-Identifier: Apache-2.0
# egpu_part(ROOM[/LEAF] [SOURCES ...] [USES part ...] [LIBRARIES target ...] [NO_PCH] [COMPILE_OPTIONS ...])
#
# One leaf of core/ (or of ui/): a static (or header-only) library egpu::ROOM::LEAF. Its sources are those of its
# folder unless SOURCES names them. The build refuses an #include of a part that USES does not list
# (EgpuCheckIncludes.cmake, run when a source changes), and a USES that points down the tree.

# Top to bottom; a room may use itself and rooms above it, less what _forbidden lists.
set(EGPU_ROOMS base ebpf ptx maps inject segment gpu linux agent host cli ui)

# DESIGN 3: the agent's diet (a room's name allows its leaves); agent and host never meet.
set(EGPU_AGENT_MAY_USE base segment maps/layout ptx/fatbin/extent gpu/device gpu/cuda gpu/sanitizer)

function(egpu_part_check_direction part uses)
  string(REGEX REPLACE "/.*" "" room "${part}")
  list(FIND EGPU_ROOMS "${room}" own)
  foreach(use IN LISTS uses)
    string(REGEX REPLACE "/.*" "" used_room "${use}")
    list(FIND EGPU_ROOMS "${used_room}" other)
    if(other LESS 0)
      message(FATAL_ERROR "part ${part} uses ${use}: no such room")
    endif()
    if(other GREATER own)
      message(FATAL_ERROR "part ${part} uses ${use}, a room below its own")
    endif()
    if(room STREQUAL "agent" AND NOT used_room STREQUAL "agent" AND NOT use IN_LIST EGPU_AGENT_MAY_USE
       AND NOT used_room IN_LIST EGPU_AGENT_MAY_USE)
      message(FATAL_ERROR "part ${part} uses ${use}: the agent may use only ${EGPU_AGENT_MAY_USE}")
    endif()
    if((room STREQUAL "host" OR room STREQUAL "cli") AND used_room STREQUAL "agent")
      message(FATAL_ERROR "part ${part} uses ${use}: host and agent never use each other")
    endif()
    if(room STREQUAL "ui" AND NOT used_room MATCHES "^(base|host|ui)$")
      message(FATAL_ERROR "part ${part} uses ${use}: the window may use base, host and ui")
    endif()
    if(room STREQUAL "gpu" AND NOT used_room MATCHES "^(base|ptx|gpu)$")
      message(FATAL_ERROR "part ${part} uses ${use}: gpu may use base, ptx and gpu")
    endif()
  endforeach()
endfunction()

function(egpu_part_target part out)
  string(REPLACE "/" "_" name "egpu_${part}")
  set(${out} "${name}" PARENT_SCOPE)
endfunction()

function(egpu_part part)
  cmake_parse_arguments(arg "NO_PCH;NO_UNITY" "" "SOURCES;USES;LIBRARIES;COMPILE_OPTIONS" ${ARGN})
  egpu_part_check_direction("${part}" "${arg_USES}")
  egpu_part_target("${part}" target)
  string(REPLACE "/" "::" alias "egpu::${part}")
  set(root "${PROJECT_SOURCE_DIR}/core")
  if(part MATCHES "^ui/")
    set(root "${PROJECT_SOURCE_DIR}")
  endif()
  set(folder "${root}/${part}")
  if(NOT arg_SOURCES)
    file(GLOB arg_SOURCES CONFIGURE_DEPENDS "${folder}/*.cpp" "${folder}/*.c" "${folder}/*.S")
  endif()
  file(GLOB headers CONFIGURE_DEPENDS "${folder}/*.hpp" "${folder}/*.h")
  set(stamp "${CMAKE_BINARY_DIR}/includes/${target}.stamp")
  string(REPLACE ";" "," uses_text "${arg_USES}")
  set(rules "${CMAKE_BINARY_DIR}/includes/${target}.files")
  set(scanned ${arg_SOURCES} ${headers})
  list(TRANSFORM scanned REPLACE "^([^/].*)$" "${CMAKE_CURRENT_SOURCE_DIR}/\\1")
  string(REPLACE ";" "\n" scanned_text "${scanned}")
  file(CONFIGURE OUTPUT "${rules}" CONTENT "${scanned_text}" @ONLY)
  add_custom_command(OUTPUT "${stamp}"
    COMMAND ${CMAKE_COMMAND} -DPART=${part} -DUSES=${uses_text} -DFILES=${rules} -DSTAMP=${stamp}
            -DROOTS=${PROJECT_SOURCE_DIR}/core,${PROJECT_SOURCE_DIR} -P ${PROJECT_SOURCE_DIR}/scripts/cmake/EgpuCheckIncludes.cmake
    DEPENDS ${scanned} ${rules} ${PROJECT_SOURCE_DIR}/scripts/cmake/EgpuCheckIncludes.cmake VERBATIM
    COMMENT "")
  add_custom_target(${target}_includes DEPENDS "${stamp}")
  set(libraries)
  foreach(use IN LISTS arg_USES)
    egpu_part_target("${use}" used)
    list(APPEND libraries ${used})
  endforeach()
  if(arg_SOURCES)
    add_library(${target} STATIC ${arg_SOURCES})
    target_include_directories(${target} PUBLIC "${PROJECT_SOURCE_DIR}/core" "${PROJECT_SOURCE_DIR}/core/include" "${root}")
    target_link_libraries(${target} PUBLIC ${libraries} ${arg_LIBRARIES})
    target_compile_options(${target} PRIVATE ${arg_COMPILE_OPTIONS})
    if(EGPU_SANITIZE)
      target_compile_options(${target} PRIVATE -fsanitize=${EGPU_SANITIZE} -fno-omit-frame-pointer)
      target_link_options(${target} PUBLIC -fsanitize=${EGPU_SANITIZE})
    endif()
    add_dependencies(${target} ${target}_includes)
    if(EGPU_UNITY AND NOT arg_NO_UNITY AND NOT arg_COMPILE_OPTIONS)
      set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
    endif()
    if(NOT arg_NO_PCH AND NOT arg_COMPILE_OPTIONS)
      target_link_libraries(${target} PUBLIC fmt::fmt)  # the precompiled header is made with its definitions
      target_precompile_headers(${target} REUSE_FROM egpu_precompiled)
    endif()
  else()
    add_library(${target} INTERFACE)
    target_include_directories(${target} INTERFACE "${PROJECT_SOURCE_DIR}/core" "${PROJECT_SOURCE_DIR}/core/include")
    target_link_libraries(${target} INTERFACE ${libraries} ${arg_LIBRARIES})
    add_dependencies(${target} ${target}_includes)
  endif()
  add_library(${alias} ALIAS ${target})
endfunction()

# Standard headers and fmt, compiled once for all parts.
file(WRITE "${CMAKE_BINARY_DIR}/precompiled.cpp" "")
add_library(egpu_precompiled STATIC "${CMAKE_BINARY_DIR}/precompiled.cpp")
target_link_libraries(egpu_precompiled PUBLIC fmt::fmt)
if(EGPU_SANITIZE)
  target_compile_options(egpu_precompiled PRIVATE -fsanitize=${EGPU_SANITIZE} -fno-omit-frame-pointer)
endif()
target_precompile_headers(egpu_precompiled PRIVATE
  <algorithm> <array> <cstdint> <cstring> <functional> <map> <memory> <optional> <set> <span> <string>
  <string_view> <unordered_map> <utility> <variant> <vector> <fmt/format.h>)
