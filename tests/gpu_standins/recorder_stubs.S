/* SPDX-License-Identifier: Apache-2.0
 * A stub for each driver function that somebody asks for: it tells record_call which one is called, with the six
 * registers of arguments, and leaves by a jump to the function, so that no prototype has to be known. */
#define STUBS 2048
        .text
        .p2align 4
        .globl recorder_stubs
        .hidden recorder_stubs
        .type recorder_stubs, @function
recorder_stubs:
        .set number, 0
        .rept STUBS
        .p2align 4
        pushq $number
        jmp record_and_leave
        .set number, number + 1
        .endr

        .p2align 4
record_and_leave:
        .cfi_startproc
        .cfi_def_cfa_offset 16
        pushq %r9
        pushq %r8
        pushq %rcx
        pushq %rdx
        pushq %rsi
        pushq %rdi
        pushq %rax
        .cfi_def_cfa_offset 72
        subq $136, %rsp                 /* eight vector registers; the stack is aligned to 16 again */
        .cfi_def_cfa_offset 208
        movups %xmm0, (%rsp)
        movups %xmm1, 16(%rsp)
        movups %xmm2, 32(%rsp)
        movups %xmm3, 48(%rsp)
        movups %xmm4, 64(%rsp)
        movups %xmm5, 80(%rsp)
        movups %xmm6, 96(%rsp)
        movups %xmm7, 112(%rsp)
        movq 192(%rsp), %rdi            /* the number */
        leaq 144(%rsp), %rsi            /* the arguments, rdi first */
        call record_call
        movq %rax, %r11
        movups (%rsp), %xmm0
        movups 16(%rsp), %xmm1
        movups 32(%rsp), %xmm2
        movups 48(%rsp), %xmm3
        movups 64(%rsp), %xmm4
        movups 80(%rsp), %xmm5
        movups 96(%rsp), %xmm6
        movups 112(%rsp), %xmm7
        addq $136, %rsp
        .cfi_def_cfa_offset 72
        popq %rax
        popq %rdi
        popq %rsi
        popq %rdx
        popq %rcx
        popq %r8
        popq %r9
        .cfi_def_cfa_offset 16
        addq $8, %rsp
        .cfi_def_cfa_offset 8
        jmp *%r11
        .cfi_endproc
        .section .note.GNU-stack, "", @progbits
