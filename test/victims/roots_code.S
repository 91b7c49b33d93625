/* SPDX-License-Identifier: Apache-2.0 */
/*
 * roots_wrong_cfi(n): the FDE does not tell of a push, as LuaJIT's does not in some helpers. The word there is 0.
 * roots_own_stack(n): a machine as GHC's: code without FDE that jumps, and keeps 0 where a return address would be.
 * roots_no_rule(n): code without FDE that zeroes rbp, uses rsp for something else, and keeps it where nobody looks.
 */
#if defined(__x86_64__)
	.text
	.globl	roots_wrong_cfi
	.type	roots_wrong_cfi, @function
roots_wrong_cfi:
	.cfi_startproc
	push	$0
1:	imul	$3, %rax, %rax
	dec	%rdi
	jg	1b
	pop	%rcx
	ret
	.cfi_endproc
	.size	roots_wrong_cfi, . - roots_wrong_cfi

	.globl	roots_own_stack
	.type	roots_own_stack, @function
roots_own_stack:
	.cfi_startproc
	sub	$56, %rsp
	.cfi_def_cfa_offset 64
	movq	$0, (%rsp)
	lea	2f(%rip), %rcx
	lea	own_stack_code(%rip), %rdx
	jmp	*%rdx
2:	add	$56, %rsp
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size	roots_own_stack, . - roots_own_stack

	.p2align 4
own_stack_code:
1:	imul	$3, %rax, %rax
	dec	%rdi
	jg	1b
	jmp	*%rcx

	.globl	roots_no_rule
	.type	roots_no_rule, @function
	.p2align 4
roots_no_rule:
	push	%rbp
	movq	%rsp, %xmm8
	xor	%ebp, %ebp
	lea	no_rule_memory(%rip), %rsp
1:	imul	$3, %rax, %rax
	dec	%rdi
	jg	1b
	movq	%xmm8, %rsp
	pop	%rbp
	ret
	.size	roots_no_rule, . - roots_no_rule

	.bss
	.zero	4096
no_rule_memory:
	.zero	4096
#endif
	.section .note.GNU-stack, "", %progbits
