/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * LuaJIT 2.1 whose objects have addresses of 64 bits (LJ_GC64): what both halves share, from its sources (lj_obj.h,
 * lj_frame.h). A frame of a profile is an instruction of its bytecode, by its address, and the instruction that has
 * called: functions have no names but those that calls give them. In compiled code it is a place in a trace.
 */
#ifndef LANG_LUAJIT_LUAJIT_H
#define LANG_LUAJIT_LUAJIT_H

#include "base/types.h"

/* Objects have their type in a byte; in a function the next says what it is: 0 if it is written in Lua. */
#define LUAJIT_OBJECT_TYPE 9
#define LUAJIT_TYPE_STRING 4
#define LUAJIT_TYPE_THREAD 6
#define LUAJIT_TYPE_PROTO 7
#define LUAJIT_TYPE_FUNCTION 8
#define LUAJIT_TYPE_TRACE 9
#define LUAJIT_FUNCTION_ID 10
#define LUAJIT_FUNCTION_CODE 32
#define LUAJIT_FUNCTION_WORDS 5

/* struct lua_State: words */
#define LUAJIT_STATE_GLOBAL 2
#define LUAJIT_STATE_BASE 4
#define LUAJIT_STATE_LIMIT 6
#define LUAJIT_STATE_STACK 7
#define LUAJIT_STATE_NATIVE 10	/* the native frame of its innermost run, with two bits of flags */
#define LUAJIT_STATE_WORDS 11

/* struct GCproto, of which the instructions come right behind it */
#define LUAJIT_PROTO_BYTES 104
#define LUAJIT_PROTO_COUNT 12	/* of instructions: u32 */

/* struct GCtrace */
#define LUAJIT_TRACE_MACHINE 88

/* A value that is a function, or a thread: the upper 17 bits; the lower 47 are its address. */
#define LUAJIT_TAG_SHIFT 47
#define LUAJIT_TAG_FUNCTION 0x1fff7u
#define LUAJIT_TAG_THREAD 0x1fff9u
#define LUAJIT_ADDRESS_MASK ((1ull << LUAJIT_TAG_SHIFT) - 1)

#define LUAJIT_SEEN 8		/* powers of two */
#define LUAJIT_STATES 4
#define LUAJIT_ROOM_WORDS 12

struct luajit_slot {
	u64 running;		/* in struct global_State: the base of the trace that runs, or 0; 0: not known where */
	u64 number;		/* ... the number of that trace, u32 */
	u64 traces;		/* ... traces by number; 0: not known */
	/* Left zero, the kernel half's own. Functions of this walk: while it goes on they stay what they are. */
	struct {
		u64 function, code, bytes;
	} seen[LUAJIT_SEEN];
	/* States of this walk, each with the native frame of its next run, and the base that it begins with. */
	struct {
		u64 state, native, base;
	} states[LUAJIT_STATES];
	u64 room[LUAJIT_ROOM_WORDS];
};

/*
 * A frame's own words, 48 bits and 64. Addresses of instructions have 47 bits, of which the last two are 0:
 *
 *	an instruction, its number of 4 bytes		the caller's instruction, or 0
 *	LUAJIT_NATIVE, and what it is of functions	the caller's instruction, or 0
 *	LUAJIT_TRACE, and the caller's instruction	the trace / 8, 44 bits, and how far in its code
 */
#define LUAJIT_NATIVE (1ull << 46)
#define LUAJIT_TRACE (1ull << 47)
#define LUAJIT_PLACE_BITS 20
#define LUAJIT_PLACE_MASK ((1ull << LUAJIT_PLACE_BITS) - 1)

#endif
