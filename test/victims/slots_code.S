/* SPDX-License-Identifier: Apache-2.0 */
/*
 * None has an FDE. Each aligns the stack by an amount that nobody knows, and works in every state that it goes through.
 *
 * slots_base(n): as MKL's sgemm. Registers are stored, not pushed; rbp keeps the old stack, then a slot does, and rbp
 *	is used for something else.
 * slots_copy(n): as x264's and x265's. A register keeps the old stack, then a slot does, and another register takes it back.
 * slots_long(n): as slots_base, 400 KiB long.
 */
#if defined(__x86_64__)
	.macro	work
9:	imul	$3, %rdx, %rdx
	lea	1(%rdx), %rdx
	dec	%rcx
	jg	9b
	.endm

	.macro	base_begins
	sub	$0x40, %rsp
	mov	%rbx, (%rsp)
	mov	%rbp, 8(%rsp)
	mov	%rsp, %rbp
	mov	%rdi, %rcx
	work
	mov	%rdi, %rax
	and	$0x3f0, %rax
	sub	%rax, %rsp
	and	$-4096, %rsp
	mov	%rdi, %rcx
	work
	mov	%rbp, 0x78(%rsp)
	mov	%rdi, 0x30(%rsp)
	mov	$0, %ebp
	.endm

	.macro	base_ends
	mov	%rdi, %rcx
	work
	mov	0x78(%rsp), %rsp
	mov	%rdi, %rcx
	work
	mov	(%rsp), %rbx
	mov	8(%rsp), %rbp
	mov	%rdi, %rcx
	work
	mov	%rdx, %rax
	add	$0x40, %rsp
	ret
	.endm

	.text
	.globl	slots_base
	.type	slots_base, @function
	.p2align 4
slots_base:
	base_begins
	base_ends
	.size	slots_base, . - slots_base

	.globl	slots_copy
	.type	slots_copy, @function
	.p2align 4
slots_copy:
	push	%rbx
	push	%rbp
	mov	$0, %ebp
	mov	%rsp, %r11
	and	$-64, %rsp
	sub	$0x180, %rsp
	mov	%rdi, %rcx
	work
	mov	%r11, 0x100(%rsp)
	mov	$0, %r11d
	push	%rdi
	mov	%rdi, %rcx
	work
	pop	%rdi
	mov	0x100(%rsp), %rax
	mov	%rdi, %rcx
	work
	mov	%rax, %rsp
	mov	%rdi, %rcx
	work
	mov	%rdx, %rax
	pop	%rbp
	pop	%rbx
	ret
	.size	slots_copy, . - slots_copy

	.globl	slots_long
	.type	slots_long, @function
	.p2align 4
slots_long:
	base_begins
	jmp	1f
	.fill	409600, 1, 0x90
1:	base_ends
	.size	slots_long, . - slots_long
#endif
	.section .note.GNU-stack, "", %progbits
