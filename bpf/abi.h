/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * What crosses the line between kernel and user space. Both halves include
 * this file; nothing here is a pointer, every size is asserted.
 */
#ifndef BPF_ABI_H
#define BPF_ABI_H

#include <linux/types.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s8 s8;
typedef __s16 s16;
typedef __s32 s32;
typedef __s64 s64;

/*
 * ---- Unwind rules -------------------------------------------------------
 *
 * One rule says how to get from a frame to its caller. A whole distribution
 * needs about 4,000 distinct ones, so rows hold a 16-bit index into one table.
 *
 * The canonical frame address (CFA) is the value of the stack pointer in the
 * caller, just before the call.
 */
#define RULES_MAX 16384

/* Registers by DWARF number; a rule may name any of them for the leaf frame. */
#if defined(__aarch64__) || defined(__TARGET_ARCH_arm64)
#define REG_COUNT 32
#define REG_SP 31
#define REG_FP 29
#define REG_RA 30
#else
#define REG_COUNT 17
#define REG_SP 7
#define REG_FP 6
#define REG_RA 16
#endif

enum rule_kind {
	RULE_NONE,	/* nothing known here: the frame pointer is tried, the frame is marked as guessed */
	RULE_CFA,	/* CFA = cfa_reg + cfa_off */
	RULE_DEREF,	/* CFA = *(cfa_reg + cfa_off) + cfa_add */
	RULE_PLT,	/* CFA = sp + cfa_off + ((pc & 15) >= cfa_add ? 8 : 0), x86 */
	RULE_SIGNAL,	/* a signal trampoline: all registers are at sp + cfa_off, in the kernel's sigcontext */
	RULE_END,	/* the outermost frame: the stack is complete */
	RULE_FRAME,	/* code that keeps frame pointers: CFA = fp + 16 */
};

enum rule_ra {
	RA_AT_CFA,	/* the return address is at CFA + ra_off */
	RA_IN_REG,	/* ... is in register ra_off; leaf frames only */
};

enum rule_fp {
	FP_SAME,	/* the caller's frame pointer is still in its register */
	FP_AT_CFA,	/* ... is at CFA + fp_off */
	FP_AT_FP,	/* ... is at fp + fp_off (functions that realign the stack) */
};

struct unwind_rule {
	s32 cfa_off;
	s32 cfa_add;
	s16 ra_off;
	s16 fp_off;
	u8 kind;	/* enum rule_kind */
	u8 cfa_reg;	/* DWARF number; other than sp and fp only in the leaf frame */
	u8 saved;	/* enum rule_ra << 4 | enum rule_fp */
	u8 lang;	/* the runtime whose interpreter loop this is, or 0 */
};
_Static_assert(sizeof(struct unwind_rule) == 16, "wire size of a rule");

#endif
