/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which functions of Lua a place in a trace belongs to. A trace goes through calls: their frames are not on the stack
 * of Lua while it runs. Each of its exits has a snapshot (lj_jit.h: struct SnapShot) that tells which would have to be,
 * and the instruction to go on with; that of the last exit before a place holds for the place.
 */
#ifndef LANG_LUAJIT_TRACE_H
#define LANG_LUAJIT_TRACE_H

#include "base/types.h"

struct memory;

#define LUAJIT_INLINE_MAX 32

/* An instruction, or 0 for a function in C, and the one that has called it, or 0. */
struct luajit_inlined {
	u64 pc, caller_pc;
};

/*
 * The functions at so many bytes from the start of a trace's code, innermost first; the last is the one that was on the
 * stack when it began, whose caller is not known here. Where no snapshot tells, that one alone, where it began. How
 * many; 0: it is no trace.
 */
u32 luajit_trace_functions(struct memory *memory, u64 trace, u32 place,
			   struct luajit_inlined ret_functions[LUAJIT_INLINE_MAX]);

#endif
