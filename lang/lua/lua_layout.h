/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where Lua keeps what: offsets in its structures and numbers of instructions, by version, from its sources (lstate.h,
 * lobject.h, lopcodes.h). They are the same on all machines of 64 bits.
 */
#ifndef LANG_LUA_LAYOUT_H
#define LANG_LUA_LAYOUT_H

#include <stdbool.h>

#include "base/types.h"

#define LUA_RELEASE(minor, patch) ((minor) << 8 | (patch))	/* of Lua 5 */

/* Fields of an instruction: the first bit, and how many. */
struct lua_field {
	u8 first, bits;
};

/* Instructions; 0xff: there is no such. */
struct lua_codes {
	struct lua_field op, a, b, c;
	bool marks_constants;		/* the highest bit of c says that it is a constant; else names always are */
	u8 move, load_nil, get_upvalue, get_in_upvalue, get_in_table, get_field, self;
	u8 call, tail_call, for_call, var_arg;
	u64 sets[2];			/* bit n: instruction n sets register a */
};

/* In bytes. */
struct lua_layout {
	u32 oldest, newest;		/* releases, LUA_RELEASE() */
	u64 status, depth;		/* of a state; the first is in the word with the type */
	u64 call_pc, call_status;	/* of a call */
	u64 fresh, tail;		/* bits there */
	bool keeps_pc;			/* the loop has it in a register */
	u8 proto_type;
	u64 code_count, line_count, local_count, upvalue_count, constant_count, first_line;	/* of a function: u32 */
	u64 constants, code, lines, far_lines, locals, upvalues, source;
	struct lua_codes codes;
};

/* NULL if it is none that we know. */
const struct lua_layout *lua_layout_of(u32 release);

#endif
