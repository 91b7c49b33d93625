/* SPDX-License-Identifier: Apache-2.0 */
/*
 * x86-64 instructions, as far as finding the next one and following the
 * stack pointer needs: how long one is, what it does to rsp and rbp, where
 * it jumps. It is not a disassembler.
 */
#ifndef EXE_X86_INSN_H
#define EXE_X86_INSN_H

#include <stddef.h>

#include "abi.h"

/* As instructions number them. */
#define X86_RBX 3
#define X86_RSP 4
#define X86_RBP 5
#define X86_R12 12

enum x86_kind {
	X86_BAD,		/* not an instruction, or cut */
	X86_OTHER,		/* touches neither; what it does to reg is not told */
	X86_PUSH,		/* reg, or none */
	X86_POP,
	X86_ADD_SP,		/* rsp += amount */
	X86_SP_LOST,		/* rsp becomes something else */
	X86_REG_IS_SP,		/* reg = rsp */
	X86_SP_IS_REG,		/* rsp = reg + amount */
	X86_STORE,		/* the word at rsp + amount = reg */
	X86_LOAD,		/* reg = the word at rsp + amount */
	X86_FP_LOST,		/* rbp becomes something else */
	X86_FP_ZERO,		/* rbp = 0 */
	X86_LEAVE,
	X86_CALL,		/* to target, unless it is 0: indirect */
	X86_BRANCH,		/* perhaps to target */
	X86_JUMP,		/* always; target 0 if indirect */
	X86_STOP,		/* ret, ud2, hlt, int3 */
};

struct x86_insn {
	u8 bytes;
	u8 kind;		/* enum x86_kind */
	s8 reg;			/* -1 if none */
	s32 amount;
	u64 target;
};

/* The instruction at ea. */
struct x86_insn x86_decode(const u8 *at, size_t bytes, u64 ea);

#endif
