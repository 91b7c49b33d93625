/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* The interrupted frame of V8's code on x86-64: how far it is built. Included by step.h. */
#ifndef LANG_V8_LEAF_X86_H
#define LANG_V8_LEAF_X86_H

#define CODE_BEFORE 8
#define CODE_BYTES 40		/* that are looked at around the interrupted instruction */

#define REG_FUNCTION 5		/* rdi, when a function is entered */
#define REG_MASK 15

/* The return address is at sp + bytes; the word below it, if there is one, is the caller's frame pointer. */
static inline int step_at(struct unwind *u, u64 bytes)
{
	u64 sp = u->regs.reg[REG_SP], return_va;

	if (read_user(u, &return_va, sizeof(return_va), sp + bytes))
		return step_end(u, END_UNREADABLE);
	if (bytes)
		u->fp_va = sp + bytes - 8;
	u->cfa = sp + bytes + 8;
	return native_return(u, return_va) ? STEP_END : STEP_CALLER;
}

/* push rbp; mov rbp, rsp: either form of the latter. */
static inline int step_makes_frame(const u8 *code)
{
	return code[0] == 0x55 && code[1] == 0x48 &&
	       ((code[2] == 0x89 && code[3] == 0xe5) || (code[2] == 0x8b && code[3] == 0xec));
}

/* Where the return address of the interrupted frame is, in bytes from sp; -1 if the frame is whole, or has none. */
static inline int step_leaf(struct unwind *u)
{
	const u8 *code = (const u8 *)u->state;
	int at = -1;

	if (read_user(u, u->state, CODE_BYTES, u->regs.pc - CODE_BEFORE))
		return -1;
	if (code[CODE_BEFORE] == 0xc3 || code[CODE_BEFORE] == 0xc2)	/* ret */
		return 0;
	if (step_makes_frame(code + CODE_BEFORE - 1))
		return 8;
	LOOP_NO_UNROLL
	for (u64 i = CODE_BEFORE; i + 4 <= CODE_BYTES; i++) {
		if (code[i] == 0xcc && code[i + 1] == 0xcc)	/* what follows is other code */
			break;
		if (step_makes_frame(code + i))
			at = 0;
	}
	return at;
}

/* Is there a call before that address? To where it says, to where a register says, or to an entry of the root table. */
static inline int step_is_return(struct unwind *u, u64 va)
{
	u8 code[8];

	if (read_user(u, code, sizeof(code), va - sizeof(code)))
		return 0;
	return code[3] == 0xe8 || (code[6] == 0xff && (code[7] & 0xf8) == 0xd0) ||
	       (code[1] == 0x41 && code[2] == 0xff && code[3] == 0x95) ||
	       (code[4] == 0x41 && code[5] == 0xff && code[6] == 0x55);
}

/* Where code that has no frame returns to; 0 if it cannot be told. */
static inline u64 step_called_from(struct unwind *u)
{
	u64 word;

	return !read_user(u, &word, sizeof(word), u->regs.reg[REG_SP]) && step_is_return(u, word) ? word : 0;
}

#endif
