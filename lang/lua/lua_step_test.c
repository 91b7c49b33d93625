// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * The kernel half, compiled for this machine, in a process with a made-up Lua.
 * Code is at 0x10000: luaV_execute() at +0x100, C code at +0x200, the root at
 * +0x300.
 */
#define CODE(i) (CODE_VA + 0x100 * (i) + 0x20)
#define LOOP_VA CODE(1)
#define C_VA CODE(2)
#define ROOT_VA CODE(3)
#define MEMORY_BYTES 0xa000ull
#define STEP_RULES 4
#define STEP_HEADER "lang/lua/lua_step.h"

#include "base/types.h"
#include "step_walk.h"

static struct lua_slot *slot = (void *)u.slot;

#define STATE_OF(i) (MEMORY_VA + 0x400 + (i) * 0x100)
#define CALL_OF(i) (MEMORY_VA + 0x1000 + (i) * 0x80)
#define VALUE_OF(i) (MEMORY_VA + 0x3000 + (i) * 0x10)
#define CLOSURE_OF(i) (MEMORY_VA + 0x4000 + (i) * 0x40)
#define PROTO_OF(i) (MEMORY_VA + 0x5000 + (i) * 0x80)
#define CODE_OF(i) (MEMORY_VA + 0x6000 + (i) * 0x40)
#define STATES 2
#define FRESH 4u
#define TAIL 32u
#define C_FUNCTION (1u << 31)	/* not Lua's */

static u32 call_total;
static u64 last_call[STATES];

static u64 new_call(u32 state)
{
	u64 va = CALL_OF(call_total++), previous = last_call[state];

	put(va + 16, previous);
	if (previous)
		put(previous + 24, va);
	put(STATE_OF(state) + 32, va);
	last_call[state] = va;
	return va;
}

static void setup(u64 pc_va)
{
	step_setup(LANG_LUA, 1, 1, pc_va);
	call_total = 0;
	*slot = (struct lua_slot){
		.status_shift = 16, .depth = 176, .call_pc = 4, .call_status = 7, .call_status_shift = 48,
		.fresh = FRESH, .tail = TAIL, .code = 64, .code_count = 24, .keeps_pc = 1,
	};
	for (u32 i = 0; i < STATES; i++) {
		put(STATE_OF(i) + 8, LUA_TYPE_THREAD);
		put(STATE_OF(i) + 176, 1 + 3 * i);
		last_call[i] = 0;
		put(new_call(i), VALUE_OF(0));		/* of no function */
	}
	for (u64 i = 1; i < 10; i++) {
		put(CLOSURE_OF(i) + 24, PROTO_OF(i));
		put(PROTO_OF(i) + 64, CODE_OF(i));
		put(PROTO_OF(i) + 24, 10);
	}
}

/* Calls a function by its number; it is at its instruction of that number, too. */
static void push(u32 state, u64 i, u32 flags)
{
	u64 va = new_call(state), value = VALUE_OF(call_total);

	put(va, value);
	put(va + 32, CODE_OF(i) + 4 * i + 4);
	put(va + 56, (u64)(flags & 0xffff) << 48);
	put(value, CLOSURE_OF(i));
	put(value + 8, flags & C_FUNCTION ? LUA_TAG_C_FUNCTION : LUA_TAG_CLOSURE);
}

/* The state is among what the native frame of that number keeps. */
static void keep_in(u32 frame, u32 state)
{
	put(STACK_VA + frame * STACK_BYTES + 8 + 8 * state, STATE_OF(state));
}

/* Functions by number, with that of who calls them if it is known; those in C are c. */
static u32 frame_text(char *text, size_t bytes, const u64 *words)
{
	u64 proto = (words[0] >> LUA_PLACES_HIGH & LUA_PROTO_MASK) << 3, caller = words[1] >> LUA_PLACES_LOW << 4;
	u64 places = (words[0] & 15) << LUA_PLACES_LOW | (words[1] & ((1u << LUA_PLACES_LOW) - 1));

	if (words[0] >> FRAME_KIND_SHIFT != FRAME_RUNTIME) {
		text[0] = "?XNR"[(words[0] & FRAME_EA_MASK) >> 8 & 3];
		return 1;
	}
	if (caller) {
		EQ(places & LUA_CALLER_NONE, (caller - PROTO_OF(0)) / 0x80);
		(void)snprintf(text, bytes, "(%llu)", (caller - PROTO_OF(0)) / 0x80);
	}
	if (!proto) {
		strncat(text, "c", bytes - strlen(text) - 1);
		return 2;
	}
	EQ(places >> LUA_CALLER_BITS, (proto - PROTO_OF(0)) / 0x80);
	(void)snprintf(text + strlen(text), bytes - strlen(text), "%llu", (proto - PROTO_OF(0)) / 0x80);
	return 2;
}

static const char *walked(void)
{
	return step_walked(frame_text);
}

TEST(lua_step_shows_the_functions_of_a_run_instead_of_the_loop)
{
	setup(LOOP_VA);
	push(0, 1, FRESH);
	push(0, 2, 0);
	push(0, 3, TAIL);
	push(0, 4, 0);
	STACK(C_VA, ROOT_VA);
	keep_in(0, 0);
	STREQ(walked(), "(3)43(1)21NR complete");
}

TEST(lua_step_takes_the_instruction_of_the_loop_from_its_register)
{
	setup(LOOP_VA);
	push(0, 1, FRESH);
	push(0, 2, 0);
	put(last_call[0] + 32, CODE_OF(2) + 4);		/* it stored the first one */
	u.regs.reg[REG_RA == 30 ? 21 : 13] = CODE_OF(2) + 12;
	STACK(C_VA, ROOT_VA);
	keep_in(0, 0);
	STREQ(walked(), "(1)21NR complete");
}

TEST(lua_step_puts_native_code_inside_of_functions_in_c)
{
	setup(C_VA);
	push(0, 1, FRESH);
	push(0, 2, 0);
	push(0, 5, C_FUNCTION);
	push(0, 3, FRESH);
	push(0, 6, C_FUNCTION);
	STACK(LOOP_VA, C_VA, LOOP_VA, C_VA, ROOT_VA);
	keep_in(1, 0);
	keep_in(3, 0);
	STREQ(walked(), "N(3)c3N(2)c(1)21NR complete");
	/* A metamethod: the caller of a run's outermost is a function of Lua. */
	setup(LOOP_VA);
	push(0, 1, FRESH);
	push(0, 2, FRESH);
	STACK(C_VA, LOOP_VA, C_VA, ROOT_VA);
	keep_in(0, 0);
	keep_in(2, 0);
	STREQ(walked(), "(1)2N1NR complete");
}

/* The frame of the one that was resumed may have words of the one that has resumed it, in either place. */
TEST(lua_step_goes_from_one_coroutine_to_that_which_has_resumed_it)
{
	setup(LOOP_VA);
	push(0, 1, FRESH);
	push(0, 5, C_FUNCTION);
	push(1, 2, FRESH);
	push(1, 3, 0);
	STACK(C_VA, LOOP_VA, C_VA, ROOT_VA);
	keep_in(0, 0);
	keep_in(0, 1);
	keep_in(2, 0);
	STREQ(walked(), "(2)32N(1)c1NR complete");
	/* One that waits is none. */
	setup(LOOP_VA);
	push(0, 1, FRESH);
	push(1, 2, FRESH);
	put(STATE_OF(1) + 8, LUA_TYPE_THREAD | 1u << 16);
	STACK(C_VA, ROOT_VA);
	keep_in(0, 0);
	keep_in(0, 1);
	STREQ(walked(), "1NR complete");
}

TEST(lua_step_knows_a_run_that_has_just_ended)
{
	setup(LOOP_VA);
	push(0, 1, FRESH);
	push(0, 5, C_FUNCTION);
	STACK(C_VA, LOOP_VA, C_VA, ROOT_VA);
	keep_in(0, 0);
	keep_in(2, 0);
	STREQ(walked(), "XN(1)c1NR complete");
}

TEST(lua_step_shows_native_code_if_there_is_no_state)
{
	setup(LOOP_VA);
	push(0, 1, FRESH);
	STACK(C_VA, ROOT_VA);
	STREQ(walked(), "XNR complete");
	setup(LOOP_VA);
	STACK(C_VA, ROOT_VA);
	keep_in(0, 0);			/* nothing runs in it */
	STREQ(walked(), "XNR complete");
}

TEST(lua_step_ends_at_what_is_no_function)
{
	setup(LOOP_VA);
	push(0, 1, FRESH);
	push(0, 2, 0);
	put(VALUE_OF(call_total) + 8, 0);	/* the innermost: it is being made */
	STACK(C_VA, ROOT_VA);
	keep_in(0, 0);
	STREQ(walked(), "1NR complete");
	setup(LOOP_VA);
	push(0, 1, FRESH);
	put(VALUE_OF(call_total) + 8, 0);
	push(0, 2, 0);
	push(0, 3, 0);
	STACK(C_VA, ROOT_VA);
	keep_in(0, 0);
	STREQ(walked(), "(2)3 runtime");
}

TEST(lua_step_does_not_go_round_in_a_circle)
{
	setup(LOOP_VA);
	push(0, 1, 0);
	push(0, 2, 0);
	put(CALL_OF(2) + 16, CALL_OF(3));
	STACK(C_VA, ROOT_VA);
	keep_in(0, 0);
	while (!native_step(&u))
		;
	OK(u.trace.end != END_COMPLETE);
}

/* Any words at all: it must end. */
TEST(lua_step_ends_whatever_is_in_memory)
{
	u64 random = 1;

	for (u32 round = 0; round < 3000; round++) {
		setup(LOOP_VA);
		push(0, 1, FRESH);
		push(0, 5, C_FUNCTION);
		push(1, 2, FRESH);
		push(1, 3, 0);
		STACK(C_VA, LOOP_VA, C_VA, ROOT_VA);
		keep_in(0, 0);
		keep_in(0, 1);
		keep_in(2, 0);
		step_spoil(&random, MEMORY_VA + 0x400, MEMORY_VA + 0x6400, round & 1);
		while (!native_step(&u))
			;
	}
}
