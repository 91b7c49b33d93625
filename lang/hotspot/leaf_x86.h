/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* The interrupted frame of Java code on x86-64: how far it is built. Included by step.h. */
#ifndef LANG_HOTSPOT_LEAF_X86_H
#define LANG_HOTSPOT_LEAF_X86_H

#define CODE_BEFORE 32
#define CODE_AFTER 16

#define REG_AX 0
#define REG_METHOD REG_BX	/* of the interpreter: the Method that is entered, ... */
#define REG_BYTECODE 13		/* ... where it is in it, */
#define REG_SENDER 13		/* ... before that, its caller's sp */

/* The return address is at sp + bytes, and, if there is a word below it, that is the caller's frame pointer. */
static inline int step_at(struct unwind *u, u64 bytes)
{
	u64 sp = u->regs.reg[REG_SP], return_va;

	if (read_user(u, &return_va, sizeof(return_va), sp + bytes))
		return step_unreadable(u);
	if (bytes)
		u->fp_va = sp + bytes - 8;
	u->cfa = sp + bytes + 8;
	return step_return(u, return_va);
}

/*
 * A method that has no frame yet. The caller left its Method in rbx and its own sp in r13. The return address is on the
 * stack, or, while room is made for locals, in rax.
 */
static inline int step_entry(struct unwind *u, const struct hotspot_slot *s)
{
	u64 sp = u->regs.reg[REG_SP], return_va = u->regs.reg[REG_AX];

	if (step_push(u, HOTSPOT_INTERPRETED, u->regs.reg[REG_METHOD], 0, 0))
		return STEP_END;
	if (!step_in_code(s, return_va) && read_user(u, &return_va, sizeof(return_va), sp))
		return step_unreadable(u);
	u->cfa = u->regs.reg[REG_SENDER];
	if (!step_in_code(s, return_va) || u->cfa < sp || u->cfa - sp > GUESS_FRAME_MAX) {
		unwind_end(u, END_RUNTIME);
		return STEP_END;
	}
	return step_return(u, return_va);
}

/* Is there, at byte i of the code in u->state[], `sub rsp, n`, and did it run? */
static inline int step_made_frame(const u8 *code, u64 i)
{
	return code[i] == 0x48 && code[i + 2] == 0xec &&
	       (code[i + 1] == 0x83 || (code[i + 1] == 0x81 && i + 7 <= CODE_BEFORE));
}

/*
 * The interrupted frame while it is built: [mov [rsp-n], eax] push rbp; [mov rbp, rsp;] sub rsp, n; with other code
 * behind it that still counts as such. -1 if the frame is whole.
 */
static inline int step_prologue(struct unwind *u, u64 into)
{
	const u8 *code = (const u8 *)u->state;

	LOOP_NO_UNROLL
	for (u64 i = 0; i + 4 <= CODE_BEFORE; i++)
		if (CODE_BEFORE - i <= into && step_made_frame(code, i))
			return -1;
	if (into && code[CODE_BEFORE - 1] == 0x55)
		return 8;
	if (into > 3 && code[CODE_BEFORE - 4] == 0x55 && code[CODE_BEFORE - 3] == 0x48 && code[CODE_BEFORE - 1] == 0xec)
		return 8;
	return 0;
}

/* Is this a safepoint's poll between `pop rbp` and `ret`? It was another instruction in each of JDK 8, 11 and 17. */
static inline int step_polls(const u8 *code)
{
	const u8 *at = code + CODE_BEFORE;

	if (at[0] == 0x49 && at[1] == 0x3b && (at[2] == 0xa7 || at[2] == 0x67))
		return at[-1] == 0x5d;				/* cmp rsp, [r15+n] */
	if (at[0] == 0x0f && at[1] == 0x87)
		return at[6] == 0xc3;				/* ja */
	if (at[0] == 0x4d && at[1] == 0x8b && (at[2] == 0x97 || at[2] == 0x57))
		return at[-1] == 0x5d;				/* mov r10, [r15+n] */
	if (at[0] == 0x41 && at[1] == 0x85 && at[2] == 0x02)
		return at[3] == 0xc3;				/* test [r10], eax */
	return at[0] == 0x85 && at[1] == 0x05 && at[6] == 0xc3;	/* test [rip+n], eax */
}

/* Where the return address of the interrupted frame is, in bytes from sp; -1 if the frame is whole. */
static inline int step_leaf(struct unwind *u, u64 pc, u64 code_va, u64 complete)
{
	const u8 *code = (const u8 *)u->state;

	if (read_user(u, u->state, CODE_BEFORE + CODE_AFTER, pc - CODE_BEFORE))
		return -1;
	if (pc < code_va)
		return 0;
	if (pc - code_va < complete)
		return step_prologue(u, pc - code_va);
	if (code[CODE_BEFORE] == 0xc3 || step_polls(code))
		return 0;
	if (code[CODE_BEFORE] == 0x5d)
		return 8;
	return -1;
}

/* Goes to the caller of the interrupted frame, unless that is whole: STEP_AGAIN. */
static inline int step_half(struct unwind *u, u64 code_va, u64 complete, u64 words)
{
	int at = step_leaf(u, u->regs.pc, code_va, complete);

	return at >= 0 ? step_at(u, (u64)at) : STEP_AGAIN;
}

/* An interrupted stub whose frame has no fixed size: it keeps a frame pointer, or has nothing on the stack. */
static inline int step_stub_leaf(struct unwind *u, const struct hotspot_slot *s, u64 pc)
{
	const u8 *code = (const u8 *)u->state;
	u64 word;

	if (read_user(u, u->state, CODE_BEFORE + CODE_AFTER, pc - CODE_BEFORE))
		return step_unreadable(u);
	if (code[CODE_BEFORE] == 0x55 || code[CODE_BEFORE] == 0xc3)
		return step_at(u, 0);
	if (code[CODE_BEFORE - 1] == 0x55)
		return step_at(u, 8);
	if (!read_user(u, &word, sizeof(word), u->regs.reg[REG_SP]) && step_in_code(s, word))
		return step_at(u, 0);
	return step_frame_pointer(u);
}

#endif
