/* SPDX-License-Identifier: Apache-2.0 */
/* dlsym and dlvsym of the process. glibc finds out who asks (RTLD_NEXT, RTLD_DEFAULT, namespaces) from the return
 * address, so these leave by a jump: the real function sees the caller's. Only names that begin with "cu" at a real
 * handle go on in C++ (lookups.cpp); there the return address says nothing.
 *
 *   rdi handle   rsi name   rdx version (dlvsym)
 */
#if !defined(__x86_64__)
#error "the agent's lookup stubs are written for x86-64"
#endif

        .text

/* LOOKUP exported, pointer to the real one, C++ for driver names */
        .macro LOOKUP exported, real, of_driver
        .globl  \exported
        .type   \exported, @function
        .p2align 4
\exported:
        .cfi_startproc
        endbr64
        leaq    1(%rdi), %rax           /* RTLD_NEXT is -1, RTLD_DEFAULT 0: */
        cmpq    $1, %rax                /* both are at most 1 now */
        jbe     1f
        testq   %rsi, %rsi
        jz      1f
        cmpb    $'c', (%rsi)
        jne     1f
        cmpb    $'u', 1(%rsi)
        jne     1f
        jmp     \of_driver
1:      movq    \real(%rip), %rax
        testq   %rax, %rax
        jz      2f
        jmp     *%rax
2:      pushq   %rdi                    /* the first lookup of the process */
        .cfi_adjust_cfa_offset 8
        pushq   %rsi
        .cfi_adjust_cfa_offset 8
        pushq   %rdx
        .cfi_adjust_cfa_offset 8
        call    egpu_find_real_lookups
        popq    %rdx
        .cfi_adjust_cfa_offset -8
        popq    %rsi
        .cfi_adjust_cfa_offset -8
        popq    %rdi
        .cfi_adjust_cfa_offset -8
        movq    \real(%rip), %rax
        testq   %rax, %rax
        jz      3f
        jmp     *%rax
3:      xorl    %eax, %eax              /* no C library that we know: nothing is found */
        ret
        .cfi_endproc
        .size   \exported, .-\exported
        .endm

        LOOKUP  dlsym, egpu_real_dlsym, egpu_dlsym_of_driver
        LOOKUP  dlvsym, egpu_real_dlvsym, egpu_dlvsym_of_driver

        .section .note.GNU-stack,"",@progbits
        .section .note.gnu.property,"a"
        .p2align 3
        .long   4, 16, 5
        .string "GNU"
        .long   0xc0000002, 4, 3, 0     /* indirect branch tracking and shadow stacks are fine with this file */
