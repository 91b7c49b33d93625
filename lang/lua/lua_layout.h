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
	struct lua_field op, a, b, c, bx;
	bool marks_constants;		/* the highest bit of c says that it is a constant; else names always are */
	bool nil_is_up_to_b;		/* load_nil sets registers a to b, not b more than one */
	bool names_locals_only;		/* a call by no call instruction has no name but that of a variable */
	u8 move, load_nil, get_upvalue, get_global, get_in_upvalue, get_in_table, get_field, self;
	u8 call, tail_call, for_call, var_arg;
	u8 closure;			/* where it is followed by others, which say what it captures */
	u64 sets[2];			/* bit n: instruction n sets register a */
};

/* In bytes. */
struct lua_layout {
	u32 oldest, newest;		/* releases, LUA_RELEASE() */
	u64 status, depth;		/* of a state; the first is in the word with the type */
	u64 call_function, call_base, call_pc, call_status;	/* of a call */
	u64 fresh, tail;		/* bits there; no `fresh`: see loop_call of struct lua_slot */
	bool is_array;			/* calls are */
	u64 jump, protected;		/* of a state; of a call's status: see struct lua_slot */
	bool keeps_pc;			/* the loop has it in a register */
	u64 closure_proto;		/* of a closure */
	u8 proto_type;
	u8 upvalue_bytes;		/* of what is known of a variable that was captured: its name is first */
	u64 code_count, line_count, local_count, upvalue_count, constant_count, first_line;	/* of a function: u32 */
	u64 constants, code, lines, far_lines, locals, upvalues, source;
	struct lua_codes codes;
};

/* NULL if it is none that we know. */
const struct lua_layout *lua_layout_of(u32 release);

#endif
