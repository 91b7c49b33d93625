/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * The interrupted frame of V8's code on arm64: how far it is built. Included by step.h. Until a function has called
 * another its return address is still in its register, so that it only matters whether the frame pointer is its own:
 *
 *	stp x29, x30, [sp, #-16]!	ldp x29, x30, [sp], #16
 *	mov x29, sp			ret, perhaps behind what drops arguments
 */
#ifndef LANG_V8_LEAF_ARM64_H
#define LANG_V8_LEAF_ARM64_H

#define CODE_BEFORE 8		/* instructions that are looked at before the interrupted one, and from it on */
#define CODE_COUNT 16

#define REG_FUNCTION 1		/* when a function is entered */
#define REG_MASK 31

/* Only the frame pointer leads on: see native_frame_pointer(). */
static inline int step_at(struct unwind *u, u64 in_register)
{
	u->cfa = u->regs.reg[REG_SP];
	u->sp_lost = 1;
	return native_return(u, u->regs.reg[REG_RA]) ? STEP_END : STEP_CALLER;
}

/* ret, b, br: what follows is reached in another way. */
static inline int step_goes_away(u32 word)
{
	return word == 0xd65f03c0 || (word & 0xfc000000) == 0x14000000 || (word & 0xfffffc1f) == 0xd61f0000;
}

/* 0 if the return address of the interrupted frame is in its register; -1 if the frame is whole, or has none. */
static inline int step_leaf(struct unwind *u)
{
	const u32 *code = (const u32 *)u->state;
	int at = -1, on = 1;

	if (read_user(u, u->state, CODE_COUNT * sizeof(u32), u->regs.pc - CODE_BEFORE * sizeof(u32)))
		return -1;
	if (code[CODE_BEFORE] == 0xd65f03c0)
		return 0;
	LOOP_NO_UNROLL
	for (u64 i = CODE_BEFORE; i < CODE_COUNT; i++) {
		/* Behind a call the register is another's. */
		if (step_goes_away(code[i]) || (code[i] & 0xfc000000) == 0x94000000 || !code[i])
			on = 0;
		if (on && (code[i] & 0xffc003ff) == 0x910003fd)	/* mov x29, sp; add x29, sp, N */
			at = 0;
	}
	on = 1;
	LOOP_NO_UNROLL
	for (u64 i = 0; i < CODE_BEFORE; i++) {
		u32 word = code[CODE_BEFORE - 1 - i];

		if (step_goes_away(word))
			on = 0;
		if (on && (word & 0xffc07fff) == 0xa8c07bfd)	/* ldp x29, x30, [sp], N */
			at = 0;
	}
	return at;
}

/* Where code that has no frame returns to; 0 if it cannot be told: before it there is bl, or blr. */
static inline u64 step_called_from(struct unwind *u)
{
	u64 va = strip_pac(u, u->regs.reg[REG_RA]);
	u32 word;

	if (read_user(u, &word, sizeof(word), va - sizeof(word)))
		return 0;
	return (word & 0xfc000000) == 0x94000000 || (word & 0xfffffc1f) == 0xd63f0000 ? va : 0;
}

#endif
