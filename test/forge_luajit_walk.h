/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * A process with a made-up LuaJIT, for tests of its kernel half on either machine. Code is at 0x10000: the interpreter
 * at +0x100, C code at +0x200, the root at +0x300; behind it there is a trace.
 */
#ifndef TEST_FORGE_LUAJIT_WALK_H
#define TEST_FORGE_LUAJIT_WALK_H

#define CODE(i) (CODE_VA + 0x100 * (i) + 0x20)
#define LOOP_VA CODE(1)
#define C_VA CODE(2)
#define ROOT_VA CODE(3)
#define TRACE_CODE_VA (CODE_VA + 0x20000)
#define MEMORY_BYTES 0x9000ull
#define STEP_RULES 4
#define STEP_MORE_MAPS { .start_va = TRACE_CODE_VA, .end_va = TRACE_CODE_VA + 0x1000, .lang = LANG_LUAJIT },
#define STEP_HEADER "lang/luajit/luajit_step.h"

#include "base/types.h"
#include "lang/list.h"
#include "step_walk.h"

#define STATES 2
#define STATE_OF(i) (MEMORY_VA + 0x400 + (i) * 0x100)
#define GLOBAL (MEMORY_VA + 0x800)
#define TRACES (MEMORY_VA + 0xa00)
#define TRACE (MEMORY_VA + 0xb00)
#define FUNCTION_OF(i) (MEMORY_VA + 0x1000 + (i) * 0x40)
#define PROTO_OF(i) (MEMORY_VA + 0x2000 + (i) * 0x100)
#define CODE_OF(i) (PROTO_OF(i) + LUAJIT_PROTO_BYTES)
#define VALUES_OF(i) (MEMORY_VA + 0x4000 + (i) * 0x800)
#define CODES 20
#define RUNNING 0x100
#define NUMBER 0x108
#define TRACE_ARRAY 0x110
#define IN_C 9			/* a function that is written in C */

static struct luajit_slot *slot = (void *)u.slot;
static u64 base_of[STATES], last[STATES], native_sp;

static inline void put_u32(u64 va, u32 word)
{
	OK(va >= MEMORY_VA && va <= MEMORY_VA + MEMORY_BYTES - 4);
	memcpy(memory + (va - MEMORY_VA), &word, sizeof(word));
}

static inline void setup(u64 pc_va)
{
	step_setup(LANG_LUAJIT, 1, 1, pc_va);
	native_sp = STACK_VA;
	*slot = (struct luajit_slot){ .running = RUNNING, .number = NUMBER, .traces = TRACE_ARRAY };
	for (u32 i = 0; i < STATES; i++) {
		put(STATE_OF(i) + 8, LUAJIT_TYPE_THREAD << 8);
		put(STATE_OF(i) + 8 * LUAJIT_STATE_GLOBAL, GLOBAL);
		put(STATE_OF(i) + 8 * LUAJIT_STATE_STACK, VALUES_OF(i));
		put(STATE_OF(i) + 8 * LUAJIT_STATE_LIMIT, VALUES_OF(i) + 0x700);
		put(VALUES_OF(i), (u64)LUAJIT_TAG_THREAD << LUAJIT_TAG_SHIFT | STATE_OF(i));
		base_of[i] = VALUES_OF(i) + 16;
		last[i] = 0;
	}
	for (u64 i = 1; i < 10; i++) {
		put(FUNCTION_OF(i) + 8, LUAJIT_TYPE_FUNCTION << 8 | (i == IN_C ? 21ull : 0) << 16);
		put(FUNCTION_OF(i) + LUAJIT_FUNCTION_CODE, CODE_OF(i));
		put_u32(PROTO_OF(i) + LUAJIT_PROTO_COUNT, CODES);
	}
}

/* A function by its number, with that link, so many bytes above the base of the one before. */
static inline void push(u32 state, u64 i, u64 bytes, u64 link)
{
	base_of[state] += bytes;
	put(base_of[state] - 16, (u64)LUAJIT_TAG_FUNCTION << LUAJIT_TAG_SHIFT | FUNCTION_OF(i));
	put(base_of[state] - 8, link);
	put(STATE_OF(state) + 8 * LUAJIT_STATE_BASE, base_of[state]);
	last[state] = i;
}

/* Called by C code. */
static inline void push_first(u32 state, u64 i)
{
	push(state, i, 32, 32 | LINK_C);
}

/* Called by the function before, by its instruction with the number of this one. */
static inline void push_called(u32 state, u64 i)
{
	u64 call = CODE_OF(last[state]) + 4 * i;

	put_u32(call, 66 | (u32)i << 8);
	push(state, i, 8 * (i + 2), call + 4);
}

/* The interpreter is at that instruction of the innermost function. */
static inline void run_at(u32 state, u64 index)
{
	u.regs.reg[LUAJIT_REG_BASE] = base_of[state];
	u.regs.reg[LUAJIT_REG_PC] = CODE_OF(last[state]) + 4 * index + 4;
}

/* The native frame of a run; that of the state's run before it is `before`. */
static inline u64 native_run(u32 state, u64 before, u64 return_va)
{
	u64 at = native_sp;

	put(at + LUAJIT_NATIVE_STATE, STATE_OF(state));
	put_u32(at + LUAJIT_NATIVE_RESULTS, 1);
	put(at + LUAJIT_NATIVE_BEFORE, before);
	put(at + LUAJIT_NATIVE_RETURN, return_va);
	native_sp += LUAJIT_NATIVE_BYTES;
	return at;
}

static inline void native_c(u64 return_va)
{
	put(native_sp + STACK_BYTES - 8, return_va);
	native_sp += STACK_BYTES;
}

static inline void innermost_run(u32 state, u64 native)
{
	put(STATE_OF(state) + 8 * LUAJIT_STATE_NATIVE, native);
}

/* Functions by number, with that of who calls them if it is known, and at which instruction; those in C are c. */
static inline u32 frame_text(char *text, size_t bytes, const u64 *words)
{
	u64 first = words[0] & FRAME_LOW_MASK, pc = first << 2, caller = words[1];

	if (words[0] >> FRAME_KIND_SHIFT != FRAME_RUNTIME) {
		text[0] = "?XNR"[(words[0] & FRAME_EA_MASK) >> 8 & 3];
		return 1;
	}
	if (first & LUAJIT_TRACE) {
		EQ(words[1] >> LUAJIT_PLACE_BITS << 3, TRACE);
		caller = (first & (LUAJIT_NATIVE - 1)) << 2;
	}
	if (caller)
		(void)snprintf(text, bytes, "(%llu)", (caller - PROTO_OF(0)) / 0x100);
	if (first & LUAJIT_TRACE)
		(void)snprintf(text + strlen(text), bytes - strlen(text), "t%llu", words[1] & LUAJIT_PLACE_MASK);
	else if (first & LUAJIT_NATIVE)
		(void)snprintf(text + strlen(text), bytes - strlen(text), "c");
	else
		(void)snprintf(text + strlen(text), bytes - strlen(text), "%llu@%llu", (pc - PROTO_OF(0)) / 0x100,
			       (pc - CODE_OF((pc - PROTO_OF(0)) / 0x100)) / 4);
	return 2;
}

static inline const char *walked(void)
{
	return step_walked(frame_text);
}

#endif
