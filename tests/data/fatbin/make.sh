#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes the fixtures of this folder from kernels.cu with nvcc 13.0. Run here; README.md says what each one is for.
set -eu
cd "$(dirname "$0")"
nvcc=${NVCC:-nvcc}
make() { output=$1; shift; "$nvcc" "$@" kernels.cu -o "$output"; }

make sass_only.fatbin   -fatbin -gencode arch=compute_90,code=sm_90
make two_gencode.fatbin -fatbin -gencode arch=compute_80,code=[sm_80,compute_80] -gencode arch=compute_90,code=sm_90
make older_source.fatbin -fatbin -gencode arch=compute_80,code=[sm_90,compute_80]
make plain.fatbin       -fatbin -arch=sm_75 -compress-mode=none
make lz4.fatbin         -fatbin -arch=sm_75 -compress-mode=speed
make zstd.fatbin        -fatbin -arch=sm_75 -compress-mode=size
make options.fatbin     -fatbin -arch=sm_75 -compress-mode=size -maxrregcount 32 -Xptxas -dlcm=cg -lineinfo
make specific.fatbin    -fatbin -compress-mode=size -gencode arch=compute_90a,code=[sm_90a,compute_90a] \
                        -gencode arch=compute_100f,code=[sm_100f,compute_100f] -gencode arch=compute_80,code=compute_80
make relocatable.fatbin -fatbin -arch=sm_90 -rdc=true
make lto.fatbin         -fatbin -gencode arch=compute_90,code=lto_90 -dc
make kernels.cubin      -cubin -arch=sm_90
make relocatable.cubin  -cubin -arch=sm_80 -dc
"${NVLINK:-nvlink}" -arch=sm_80 relocatable.cubin -o linked.cubin
make kernels.ptx        -ptx -arch=sm_75
make host_object.o      -c -arch=sm_75 -compress-mode=size -Xcompiler -g0
make host_relocatable.o -c -arch=sm_75 -rdc=true -compress-mode=size -Xcompiler -g0
make libhost.so         -shared -arch=sm_75 -compress-mode=size -cudart shared -Xcompiler -fPIC,-g0 -Xlinker -s
