/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Lua, as its authors write it (not LuaJIT): what both halves share. A frame of
 * a profile is a function with the instruction that it has come to, and the
 * instruction that has called it: functions of Lua have no names but those that
 * calls give them.
 */
#ifndef LANG_LUA_LUA_H
#define LANG_LUA_LUA_H

#include "base/types.h"

/* struct lua_State (lstate.h), the same from 5.2 on; all are words but the type. */
#define LUA_STATE_TYPE 8	/* a byte */
#define LUA_STATE_CALL 32	/* what runs, or has resumed another */
#define LUA_STATE_READ 40	/* bytes, as far as they are looked at */
#define LUA_TYPE_THREAD 8

/* That of 5.1 (lstate.h of 5.1.5), whose calls are an array */
#define LUA_51_STATE_CALL 40
#define LUA_51_STATE_PC 48	/* the next instruction of that call; of others it is in the call */
#define LUA_51_STATE_LAST 72	/* the array: the last that it has room for, ... */
#define LUA_51_STATE_FIRST 80	/* ... the first, ... */
#define LUA_51_STATE_SIZE 88	/* ... and, in the upper half of a word, for how many */
#define LUA_51_STATE_READ 96
#define LUA_51_STATE_JUMP 168	/* where on the C stack errors are caught */
#define LUA_51_CALL_BYTES 40

/* struct CallInfo: words; the links are there from 5.2 on */
#define LUA_CALL_PREVIOUS 2
#define LUA_CALL_NEXT 3
#define LUA_CALL_WORDS 9
#define LUA_ROOM_WORDS 16	/* a power of two */

/* TValue, and what is behind one that is a function of Lua: words */
#define LUA_VALUE_WORDS 2
#define LUA_TAG_MASK 0x7f
#define LUA_TAG_CLOSURE 0x46	/* a function written in Lua ... */
#define LUA_TAG_C_CLOSURE 0x66	/* ... in C, with values of its own */
#define LUA_TAG_C_FUNCTION 0x16	/* ... without */
#define LUA_51_TAG 6		/* any function */
#define LUA_51_CLOSURE_TYPE 8	/* a word: its lowest byte is that tag, ... */
#define LUA_51_CLOSURE_IS_C 16	/* ... a byte from this bit on says in what it is written */

/* An instruction of 5.1 and 5.2: its number, and the first of the registers that it works on */
#define LUA_CODE_MASK 63
#define LUA_CODE_A(code) ((code) >> 6 & 0xff)

#define LUA_SEEN 4		/* powers of two */
#define LUA_STATES 4

struct lua_slot {
	u64 status_shift;	/* in the word of a state that has the type: a byte, 0 if it runs */
	u64 depth;		/* ... 16 bits: how many calls of C code it is in, and those that have resumed it */
	u64 call_pc;		/* in a call, a word: the next instruction */
	u64 call_status;	/* ... another, of which 32 bits count ... */
	u64 call_status_shift;	/* ... from this one on */
	u64 fresh, tail;	/* bits of that: the outermost of a run; what has called it is gone */
	u64 call_function;	/* in a call, words: where on the stack of Lua its function is ... */
	u64 call_base;		/* ... and its registers */
	u64 loop_call;		/* the number of the instruction by which the loop calls; 0: `fresh` tells its calls */
	u64 is_array;		/* calls are: 5.1 */
	u64 jump;		/* in a state: where on the C stack errors are caught; 0: what calls cannot yield */
	u64 protected;		/* a bit of a call's status: what it calls may yield, and go on without it */
	u64 closure_proto;	/* in a closure: its function */
	u64 code, code_count;	/* in a function: its instructions */
	u64 keeps_pc;		/* the loop has the next instruction in a register, and stores it only now and then */
	/* Left zero, the kernel half's own. All that is left of the state's calls is in this run. */
	u64 is_base;
	/* Functions of this walk: while it goes on they stay what they are. */
	struct {
		u64 closure, proto, code, bytes;
	} seen[LUA_SEEN];
	/* States of this walk, each with the call that its next run begins with. */
	struct {
		u64 state, call;
	} states[LUA_STATES];
	u64 room[LUA_ROOM_WORDS];
};

/*
 * A frame's own words. The first, 48 bits, and the second:
 *
 *	47              4 3      0	63            21 20              0
 *	| function / 8   | places |	| caller / 16   | places         |
 *
 * 25 bits of places, of which 4 are in the first word: 13 of the function's own, 12 of the caller's. Both are struct
 * Proto; a function written in C is none. Where a place has no room, the function has no line, or no name.
 */
#define LUA_PLACES_LOW 21
#define LUA_PLACES_HIGH 4
#define LUA_CALLER_BITS 12
#define LUA_PC_NONE 0x1fffu
#define LUA_CALLER_NONE 0xfffu
#define LUA_PROTO_MASK ((1ull << 44) - 1)

static inline u64 lua_places(u64 pc, u64 caller_pc)
{
	return (pc < LUA_PC_NONE ? pc : LUA_PC_NONE) << LUA_CALLER_BITS |
	       (caller_pc < LUA_CALLER_NONE ? caller_pc : LUA_CALLER_NONE);
}

static inline u64 lua_first_word(u64 proto, u64 places)
{
	return proto >> 3 << LUA_PLACES_HIGH | places >> LUA_PLACES_LOW;
}

static inline u64 lua_second_word(u64 caller, u64 places)
{
	return caller >> 4 << LUA_PLACES_LOW | (places & ((1u << LUA_PLACES_LOW) - 1));
}

#endif
