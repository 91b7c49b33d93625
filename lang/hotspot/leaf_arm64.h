/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * The interrupted frame of Java code on arm64: how far it is built. Included by step.h. Until code has called something
 * its return address is still in its register:
 *
 *	sub sp, sp, N				stp x29, x30, [sp, #-16]!
 *	stp x29, x30, [sp, N - 16]		sub sp, sp, x9			large frames
 *	...
 *	ldp x29, x30, [sp, N - 16]		ldp x29, x30, [sp], #16
 *	add sp, sp, N
 *	a safepoint's poll; ret
 */
#ifndef LANG_HOTSPOT_LEAF_ARM64_H
#define LANG_HOTSPOT_LEAF_ARM64_H

#define CODE_BEFORE 8		/* instructions before the interrupted one that are looked at */

#define REG_METHOD 12		/* of the interpreter: the Method that is entered, ... */
#define REG_BYTECODE 22		/* ... where it is in it, ... */
#define REG_SENDER 13		/* ... before that, its caller's sp, until JDK 17 */
#define REG_SENDER_LATER 19

#define ARM64_RET_WORD 0xd65f03c0

/* What the instructions before the interrupted one have done. */
struct step_done {
	u8 lowered, lowered_pair;	/* sp, by the frame's size; by the pair alone */
	u8 popped, raised;		/* the registers are the caller's; sp, too */
};

static inline void step_look(struct step_done *done, u32 word)
{
	if ((word & 0xff8003ff) == 0xd10003ff || (word & 0xffe0ffff) == 0xcb2063ff)	/* sub sp, sp, ... */
		done->lowered = 1;
	if (word == 0xa9bf7bfd)								/* stp, with a change of sp */
		done->lowered_pair = 1;
	if ((word & 0xffc07fff) == 0xa9407bfd)						/* ldp */
		done->popped = 1;
	if ((word & 0xff8003ff) == 0x910003ff)						/* add sp, sp, N */
		done->raised = done->popped;
	if (word == 0xa8c17bfd)								/* ldp, with a change of sp */
		done->popped = done->raised = 1;
	if (word == ARM64_RET_WORD || (word & 0xfc000000) == 0x14000000 || (word & 0xfffffc1f) == 0xd61f0000)
		done->popped = done->raised = 0;
}

/* To where the register says; the caller's sp is that many bytes above. */
static inline int step_by_register(struct unwind *u, u64 bytes)
{
	u->cfa = u->regs.reg[REG_SP] + bytes;
	return step_return(u, u->regs.reg[REG_RA]);
}

/* Goes to the caller of the interrupted frame, unless that is whole: STEP_AGAIN. */
static inline int step_half(struct unwind *u, u64 code_va, u64 complete, u64 words)
{
	const u32 *code = (const u32 *)u->state;
	struct step_done done = { 0 };
	u64 pc = u->regs.pc, into = pc < code_va ? 0 : (pc - code_va) / sizeof(u32);

	if (read_user(u, u->state, (CODE_BEFORE + 1) * sizeof(u32), pc - CODE_BEFORE * sizeof(u32)))
		return STEP_AGAIN;
	if (pc < code_va || code[CODE_BEFORE] == ARM64_RET_WORD)
		return step_by_register(u, 0);
	LOOP_NO_UNROLL
	for (u64 i = 0; i < CODE_BEFORE; i++)
		if (CODE_BEFORE - i <= into)
			step_look(&done, code[i]);
	if (pc - code_va < complete)
		return step_by_register(u, done.lowered ? words * 8 : done.lowered_pair ? 16 : 0);
	if (done.popped)
		return step_by_register(u, done.raised ? 0 : words * 8);
	return STEP_AGAIN;
}

static inline int step_is_above(struct unwind *u, u64 va)
{
	u64 sp = u->regs.reg[REG_SP];

	return va >= sp && va - sp <= GUESS_FRAME_MAX && !(va & 15);
}

/* A method that has no frame yet: its caller left its own sp in a register, which is another in later versions. */
static inline int step_entry(struct unwind *u, const struct hotspot_slot *s)
{
	if (step_push(u, HOTSPOT_INTERPRETED, u->regs.reg[REG_METHOD], 0, 0))
		return STEP_END;
	u->cfa = u->regs.reg[REG_SENDER];
	if (!step_is_above(u, u->cfa))
		u->cfa = u->regs.reg[REG_SENDER_LATER];
	if (!step_is_above(u, u->cfa))
		u->cfa = u->regs.reg[REG_SP];
	if (!step_in_code(s, strip_pac(u, u->regs.reg[REG_RA]))) {
		unwind_end(u, END_RUNTIME);
		return STEP_END;
	}
	return step_return(u, u->regs.reg[REG_RA]);
}

/* An interrupted stub whose frame has no fixed size: it has made a record of its caller, or nothing. */
static inline int step_stub_leaf(struct unwind *u, const struct hotspot_slot *s, u64 pc)
{
	u64 fp = u->regs.reg[REG_FP], word;

	if (step_is_above(u, fp) && !read_user(u, &word, sizeof(word), fp + 8) && word == u->regs.reg[REG_RA])
		return step_frame_pointer(u);
	if (step_in_code(s, strip_pac(u, u->regs.reg[REG_RA])))
		return step_by_register(u, 0);
	return step_frame_pointer(u);
}

#endif
