/* SPDX-License-Identifier: Apache-2.0 */
/*
 * asm_pushes(n): the stack pointer moves within the loop, each move told in CFI.
 * asm_frame(n): the CFA hangs on a frame pointer, the stack pointer is used up in between.
 */
#if defined(__x86_64__)
	.text
	.globl	asm_pushes
	.type	asm_pushes, @function
asm_pushes:
	.cfi_startproc
	xor	%eax, %eax
	test	%rdi, %rdi
	jz	2f
1:	push	%rbx
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset rbx, 0
	push	%r12
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset r12, 0
	sub	$40, %rsp
	.cfi_adjust_cfa_offset 40
	imul	$3, %rax, %rax
	add	%rdi, %rax
	add	$40, %rsp
	.cfi_adjust_cfa_offset -40
	pop	%r12
	.cfi_adjust_cfa_offset -8
	.cfi_restore r12
	pop	%rbx
	.cfi_adjust_cfa_offset -8
	.cfi_restore rbx
	dec	%rdi
	jnz	1b
2:	ret
	.cfi_endproc
	.size	asm_pushes, . - asm_pushes

	.globl	asm_frame
	.type	asm_frame, @function
asm_frame:
	.cfi_startproc
	push	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset rbp, -16
	mov	%rsp, %rbp
	.cfi_def_cfa_register rbp
	xor	%eax, %eax
1:	test	%rdi, %rdi
	jz	2f
	push	%rdi
	sub	$128, %rsp
	imul	$3, %rax, %rax
	add	%rdi, %rax
	add	$128, %rsp
	pop	%rdi
	dec	%rdi
	jmp	1b
2:	leave
	.cfi_def_cfa rsp, 8
	.cfi_restore rbp
	ret
	.cfi_endproc
	.size	asm_frame, . - asm_frame
#elif defined(__aarch64__)
	.text
	.globl	asm_pushes
	.type	asm_pushes, %function
asm_pushes:
	.cfi_startproc
	mov	x1, xzr
	cbz	x0, 2f
1:	stp	x19, x20, [sp, #-32]!
	.cfi_adjust_cfa_offset 32
	.cfi_rel_offset x19, 0
	.cfi_rel_offset x20, 8
	add	x1, x1, x1, lsl #1
	add	x1, x1, x0
	ldp	x19, x20, [sp], #32
	.cfi_adjust_cfa_offset -32
	.cfi_restore x19
	.cfi_restore x20
	subs	x0, x0, #1
	b.ne	1b
2:	mov	x0, x1
	ret
	.cfi_endproc
	.size	asm_pushes, . - asm_pushes

	.globl	asm_frame
	.type	asm_frame, %function
asm_frame:
	.cfi_startproc
	stp	x29, x30, [sp, #-16]!
	.cfi_def_cfa_offset 16
	.cfi_offset x29, -16
	.cfi_offset x30, -8
	mov	x29, sp
	.cfi_def_cfa_register x29
	mov	x1, xzr
1:	cbz	x0, 2f
	sub	sp, sp, #128
	add	x1, x1, x1, lsl #1
	add	x1, x1, x0
	add	sp, sp, #128
	sub	x0, x0, #1
	b	1b
2:	mov	x0, x1
	.cfi_def_cfa sp, 16
	ldp	x29, x30, [sp], #16
	.cfi_def_cfa_offset 0
	.cfi_restore x29
	.cfi_restore x30
	ret
	.cfi_endproc
	.size	asm_frame, . - asm_frame
#endif
	.section .note.GNU-stack, "", %progbits
