# SPDX-License-Identifier: Apache-2.0
# egpu_bpf_object(OUT_VAR source.bpf.c): compiles an eBPF program with clang; sets OUT_VAR to the .bpf.o.
# clang copies source lines into the BTF, and reads them under the name that it writes there. So names are relative to
# the source folder, where clang runs: no path of this machine goes into an object that is installed.
function(egpu_bpf_object out source)
  get_filename_component(name "${source}" NAME_WLE)   # bandwidth.bpf.c -> bandwidth.bpf
  get_filename_component(source_path "${source}" ABSOLUTE)
  set(object "${CMAKE_CURRENT_BINARY_DIR}/${name}.o")
  add_custom_command(OUTPUT "${object}"
    COMMAND ${EGPU_CLANG} -target bpf -g -O2 -Wall -Werror -D__TARGET_ARCH_x86
            -I${PROJECT_SOURCE_DIR}/core/include -idirafter /usr/include/${CMAKE_LIBRARY_ARCHITECTURE}
            -fdebug-prefix-map=${PROJECT_SOURCE_DIR}/=./ -fdebug-compilation-dir=.
            -MD -MF "${object}.d" -c "${source_path}" -o "${object}"
    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
    DEPENDS "${source_path}" DEPFILE "${object}.d" VERBATIM
    COMMENT "Compiling eBPF program ${name}")
  set(${out} "${object}" PARENT_SCOPE)
endfunction()
