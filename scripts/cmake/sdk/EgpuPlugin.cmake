# SPDX-License-Identifier: Apache-2.0
# For plugins, in egpu's own tree and outside of it (find_package(egpu)):
#
# egpu_add_plugin(NAME PROGRAMS file.bpf.c [SOURCES file.cpp ...] [VERSION text] [LICENSE spdx] [SUMMARY text])
#   Makes NAME.so. The program is compiled with clang, checked with `egpu check`, and embedded: NAME.bpf.h declares it
#   as NAME_bpf and NAME_bpf_end (a - in the name becomes _). With SOURCES these say EGPU_PLUGIN(...) themselves;
#   without, the plugin is its programs alone, and VERSION, LICENSE and SUMMARY say the rest (else those of project()).
#   The finished file is checked with `egpu plugin check` (target NAME_checked, part of `all`).
# egpu_add_plugin_test(NAME file.test.yaml)
#   A test for ctest: `egpu plugin test` of the file with the plugin NAME. Needs no GPU.
#
# Uses: EGPU_INCLUDE_DIR, EGPU_PROGRAM (the command), EGPU_CLANG, EGPU_SDK_DIR (where this file is).

# Compiles a .bpf.c; sets `out` to the object. egpu's own tree has another way, which keeps its paths out of the object.
if(NOT COMMAND _egpu_compile_program)
  function(_egpu_compile_program out source)
    if(NOT EGPU_CLANG)
      message(FATAL_ERROR "egpu_add_plugin: eBPF programs are compiled with clang, and none was found: apt install clang, "
                          "or set EGPU_CLANG")
    endif()
    get_filename_component(name "${source}" NAME_WLE)   # hello.bpf.c -> hello.bpf
    set(object "${CMAKE_CURRENT_BINARY_DIR}/${name}.o")
    set(machine x86)
    if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
      set(machine arm64)
    endif()
    # Names are relative to the source folder: no path of the author's machine goes into the object.
    add_custom_command(OUTPUT "${object}"
      COMMAND "${EGPU_CLANG}" -target bpf -g -O2 -Wall -D__TARGET_ARCH_${machine} "-I${EGPU_INCLUDE_DIR}"
              -idirafter /usr/include/${CMAKE_LIBRARY_ARCHITECTURE} -fdebug-compilation-dir=.
              -MD -MF "${object}.d" -c "${source}" -o "${object}"
      WORKING_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}"
      DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${source}" DEPFILE "${object}.d" VERBATIM
      COMMENT "Compiling eBPF program ${name}")
    set(${out} "${object}" PARENT_SCOPE)
  endfunction()
endif()

function(egpu_add_plugin name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "VERSION;LICENSE;SUMMARY" "PROGRAMS;SOURCES")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "egpu_add_plugin(${name}): unknown: ${arg_UNPARSED_ARGUMENTS}; known: PROGRAMS SOURCES VERSION "
                        "LICENSE SUMMARY")
  endif()
  if(NOT name MATCHES "^[a-z0-9-]+$")
    message(FATAL_ERROR "egpu_add_plugin(${name}): a plugin's name has lower-case letters, digits and - only")
  endif()
  foreach(field IN ITEMS VERSION LICENSE SUMMARY)
    if(arg_SOURCES AND DEFINED arg_${field})
      message(FATAL_ERROR "egpu_add_plugin(${name}): ${field} is for plugins without SOURCES: with them the C++ says it, "
                          "in EGPU_PLUGIN(...). Leave ${field} out here")
    endif()
  endforeach()
  list(LENGTH arg_PROGRAMS programs)
  if(NOT programs EQUAL 1)
    message(FATAL_ERROR "egpu_add_plugin(${name}): PROGRAMS names one .bpf.c file in this version, which may hold many "
                        "programs and #include others")
  endif()
  foreach(file IN LISTS arg_PROGRAMS arg_SOURCES)
    if(NOT EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/${file}" AND NOT EXISTS "${file}")
      message(FATAL_ERROR "egpu_add_plugin(${name}): there is no file ${file}")
    endif()
  endforeach()
  _egpu_compile_program(object "${arg_PROGRAMS}")
  set(checked "${CMAKE_CURRENT_BINARY_DIR}/${name}.checked")
  # The plugin of before goes first: after a refusal it would run on as if it were this one. (No $<TARGET_FILE>: the
  # plugin depends on this.)
  add_custom_command(OUTPUT "${checked}"
    COMMAND "${CMAKE_COMMAND}" -E rm -f "${CMAKE_CURRENT_BINARY_DIR}/${name}.so"
    COMMAND "${EGPU_PROGRAM}" check --quiet "${object}"
    COMMAND "${CMAKE_COMMAND}" -E touch "${checked}"
    WORKING_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}"
    DEPENDS "${object}" ${EGPU_PROGRAM_TARGET} VERBATIM
    COMMENT "Checking eBPF program ${name}")
  _egpu_embed("${name}" "${object}" "${checked}" "${arg_SOURCES}" "${arg_VERSION}" "${arg_LICENSE}" "${arg_SUMMARY}"
              embedded)
  add_custom_target(${name}_program DEPENDS "${object}" "${checked}")
  add_library(${name} MODULE ${arg_SOURCES} "${embedded}")
  add_dependencies(${name} ${name}_program)
  target_include_directories(${name} PRIVATE "${EGPU_INCLUDE_DIR}" "${CMAKE_CURRENT_BINARY_DIR}")
  if(arg_SOURCES)
    target_compile_features(${name} PRIVATE cxx_std_20)
  endif()
  set_target_properties(${name} PROPERTIES PREFIX "" SUFFIX ".so" OUTPUT_NAME ${name} POSITION_INDEPENDENT_CODE ON
    C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
    LINK_DEPENDS "${EGPU_SDK_DIR}/plugin.map")
  target_link_options(${name} PRIVATE "-Wl,--version-script=${EGPU_SDK_DIR}/plugin.map" -Wl,--no-undefined -Wl,--as-needed)
  # No step of the link: that would delete the file that the check complains of. The build fails until it is well.
  set(plugin_checked "${CMAKE_CURRENT_BINARY_DIR}/${name}.so.checked")
  add_custom_command(OUTPUT "${plugin_checked}"
    COMMAND "${EGPU_PROGRAM}" plugin check --quiet $<TARGET_FILE:${name}>
    COMMAND "${CMAKE_COMMAND}" -E touch "${plugin_checked}"
    WORKING_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}"
    DEPENDS ${name} ${EGPU_PROGRAM_TARGET} VERBATIM
    COMMENT "Checking plugin ${name}")
  add_custom_target(${name}_checked ALL DEPENDS "${plugin_checked}")
  if(EGPU_PROGRAM_TARGET)
    add_dependencies(${name} ${EGPU_PROGRAM_TARGET})
  endif()
endfunction()

# The header that declares the object, and the source that holds it, and the descriptor where there are no sources.
function(_egpu_embed name object checked sources version license summary out)
  string(MAKE_C_IDENTIFIER "${name}_bpf" symbol)
  string(REPLACE "-" "_" symbol "${symbol}")
  set(language cpp)
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  if("C" IN_LIST languages)
    set(language c)
  endif()
  set(descriptor)
  if(NOT sources)
    foreach(pair "version;${PROJECT_VERSION}" "license;Apache-2.0" "summary;${PROJECT_DESCRIPTION}")
      list(GET pair 0 field)
      list(GET pair 1 otherwise)
      if(NOT ${field})
        set(${field} "${otherwise}")
      endif()
      string(REPLACE "\\" "\\\\" ${field} "${${field}}")
      string(REPLACE "\"" "\\\"" ${field} "${${field}}")
    endforeach()
    set(descriptor "\nconst egpu_plugin egpu_plugin_descriptor = {\n    EGPU_PLUGIN_MAGIC, sizeof(egpu_plugin), \
EGPU_PLUGIN_ABI_MAJOR, EGPU_PLUGIN_ABI_MINOR, EGPU_PLUGIN_ABI_MINOR, 0,\n    \"${name}\", \"${version}\", \
\"${license}\", \"${summary}\", ${symbol}, ${symbol}_end, NULL};\n")
  endif()
  set(hidden "__attribute__((visibility(\"hidden\")))")
  file(CONFIGURE OUTPUT "${name}.bpf.h" CONTENT "/* Made by egpu_add_plugin(): the eBPF object of plugin ${name}. */
#pragma once
#ifdef __cplusplus
extern \"C\" {
#endif
extern const unsigned char ${symbol}[] ${hidden};
extern const unsigned char ${symbol}_end[] ${hidden};
#ifdef __cplusplus
}
#endif
" @ONLY)
  set(source "${CMAKE_CURRENT_BINARY_DIR}/${name}.embedded.${language}")
  file(CONFIGURE OUTPUT "${source}" CONTENT "/* Made by egpu_add_plugin(): the eBPF object of plugin ${name}. */
#include <egpu/plugin.h>

#include \"${name}.bpf.h\"

__asm__(\".section .rodata\\n\"
        \".balign 8\\n\"
        \".globl ${symbol}\\n.hidden ${symbol}\\n${symbol}:\\n\"
        \".incbin \\\"${object}\\\"\\n\"
        \".globl ${symbol}_end\\n.hidden ${symbol}_end\\n${symbol}_end:\\n\"
        \".byte 0\\n.text\\n\");
${descriptor}" @ONLY)
  # Link-time optimisation does not look into assembly.
  set_source_files_properties("${source}" PROPERTIES OBJECT_DEPENDS "${object};${checked}" COMPILE_OPTIONS -fno-lto)
  set(${out} "${source}" PARENT_SCOPE)
endfunction()

# A macro: enable_testing() must be called in the scope of the folder.
macro(egpu_add_plugin_test name file)
  enable_testing()
  _egpu_add_plugin_test("${name}" "${file}")
endmacro()

function(_egpu_add_plugin_test name file)
  if(NOT TARGET ${name})
    message(FATAL_ERROR "egpu_add_plugin_test(${name}): there is no plugin of that name: egpu_add_plugin() comes first")
  endif()
  if(NOT EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/${file}" AND NOT EXISTS "${file}")
    message(FATAL_ERROR "egpu_add_plugin_test(${name}): there is no file ${file}")
  endif()
  add_test(NAME ${name} COMMAND "${EGPU_PROGRAM}" plugin test --plugin $<TARGET_FILE:${name}> "${file}"
    WORKING_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}")
  set_tests_properties(${name} PROPERTIES TIMEOUT 600)
endfunction()
