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
#define ARRAY_OF(i) (MEMORY_VA + 0x1000 + (i) * 0x1000)
#define VALUE_OF(i) (MEMORY_VA + 0x3000 + (i) * 0x10)
#define CLOSURE_OF(i) (MEMORY_VA + 0x4000 + (i) * 0x40)
#define PROTO_OF(i) (MEMORY_VA + 0x5000 + (i) * 0x80)
#define CODE_OF(i) (MEMORY_VA + 0x6000 + (i) * 0x40)
#define STATES 2
#define ARRAY_ROOM 64u
#define FRESH 4u
#define PROTECTED 16u
#define TAIL 32u
#define C_FUNCTION (1u << 31)	/* not Lua's */
#define OTHER_REGISTER (1u << 30)	/* nor that: it begins a run while its caller is about to call another */

/* As 5.4 has calls, 5.2 and 5.1. */
enum form { FLAGGED, LINKED, ARRAY, FORMS };
static const struct lua_slot slots[FORMS] = {
	[FLAGGED] = {
		.status_shift = 16, .depth = 176, .call_pc = 4, .call_status = 7, .call_status_shift = 48,
		.fresh = FRESH, .tail = TAIL, .jump = 88, .protected = PROTECTED, .closure_proto = 24,
		.code = 64, .code_count = 24, .keeps_pc = 1,
	},
	[LINKED] = {
		.status_shift = 16, .depth = 70, .call_pc = 7, .call_status = 4, .call_status_shift = 16,
		.tail = 64, .jump = 112, .protected = PROTECTED, .call_base = 6, .loop_call = 29, .closure_proto = 24,
		.code = 24, .code_count = 88,
	},
	[ARRAY] = {
		.status_shift = 16, .call_pc = 3, .call_status = 4, .call_status_shift = 32, .tail = 0xffffffff,
		.call_function = 1, .loop_call = 28, .is_array = 1, .closure_proto = 32, .code = 24, .code_count = 80,
		.keeps_pc = 1,
	},
};
static u32 form, call_total, call_count[STATES];
static u64 last_call[STATES];

#define EACH_FORM for (form = 0; form < FORMS; form++)

static u64 word_at(u64 va)
{
	u64 word;

	memcpy(&word, memory + (va - MEMORY_VA), sizeof(word));
	return word;
}

static u64 new_call(u32 state)
{
	u64 va = form == ARRAY ? ARRAY_OF(state) + LUA_51_CALL_BYTES * call_count[state] : CALL_OF(call_total);
	u64 previous = last_call[state];

	call_total++;
	call_count[state]++;
	last_call[state] = va;
	if (form == ARRAY) {
		if (previous)
			put(previous + 24, word_at(STATE_OF(state) + LUA_51_STATE_PC));
		put(STATE_OF(state) + LUA_51_STATE_CALL, va);
		return va;
	}
	put(va + 16, previous);
	if (previous)
		put(previous + 24, va);
	put(STATE_OF(state) + 32, va);
	return va;
}

static void setup_state(u32 state)
{
	put(STATE_OF(state) + 8, LUA_TYPE_THREAD);
	last_call[state] = 0;
	call_count[state] = 0;
	if (form == ARRAY) {
		put(STATE_OF(state) + LUA_51_STATE_FIRST, ARRAY_OF(state));
		put(STATE_OF(state) + LUA_51_STATE_LAST, ARRAY_OF(state) + LUA_51_CALL_BYTES * (ARRAY_ROOM - 1));
		put(STATE_OF(state) + LUA_51_STATE_SIZE, (u64)ARRAY_ROOM << 32);
		put(STATE_OF(state) + LUA_51_STATE_JUMP, STACK_VA + 0x800 - 0x100 * state);
	} else {
		put(STATE_OF(state) + slot->depth, 1 + 3 * state);
	}
	put(new_call(state) + 8 * slot->call_function, VALUE_OF(0));	/* of no function */
}

static void setup(u64 pc_va)
{
	step_setup(LANG_LUA, 1, 1, pc_va);
	call_total = 0;
	*slot = slots[form];
	for (u32 i = 0; i < STATES; i++)
		setup_state(i);
	for (u64 i = 1; i < 10; i++) {
		put(CLOSURE_OF(i) + 8, LUA_51_TAG);
		put(CLOSURE_OF(i) + slot->closure_proto, PROTO_OF(i));
		put(PROTO_OF(i) + slot->code, CODE_OF(i));
		put(PROTO_OF(i) + slot->code_count, 10);
	}
}

/* The instruction by which the innermost call of a state calls what will be at an address. */
static void put_calling(u32 state, u64 value)
{
	u64 caller = last_call[state], base = word_at(caller + 8 * slot->call_base);
	u64 pc = form == ARRAY ? word_at(STATE_OF(state) + LUA_51_STATE_PC) : word_at(caller + 8 * slot->call_pc);

	if (slot->loop_call && pc)
		put(pc - 4, slot->loop_call | (value - base) / 16 << 6 | word_at(pc - 4) >> 32 << 32);
}

static void put_status(u64 call, u32 flags)
{
	u64 tail = form == LINKED ? 64 : form == ARRAY ? 3 : TAIL;
	u64 status = (form == FLAGGED ? flags & FRESH : 0) | (flags & TAIL ? tail : 0) | (flags & PROTECTED);

	put(call + 8 * slot->call_status, status << slot->call_status_shift);
}

/* Calls a function by its number; it is at its instruction of that number, too. */
static void push(u32 state, u64 i, u32 flags)
{
	u64 value = VALUE_OF(call_total + 1), va;

	if (!(flags & FRESH))
		put_calling(state, value);
	if (flags & OTHER_REGISTER)
		put_calling(state, value - 16);
	va = new_call(state);
	put_status(va, flags);
	put(va + 8 * slot->call_function, value);
	if (form != FLAGGED)
		put(va + 8 * slot->call_base, value + 16);
	if (form != ARRAY)
		put(va + 8 * slot->call_pc, CODE_OF(i) + 4 * i + 4);
	else if (!(flags & C_FUNCTION))
		put(STATE_OF(state) + LUA_51_STATE_PC, CODE_OF(i) + 4 * i + 4);
	put(value, CLOSURE_OF(i));
	put(value + 8, form == ARRAY ? LUA_51_TAG : flags & C_FUNCTION ? LUA_TAG_C_FUNCTION : LUA_TAG_CLOSURE);
	if (flags & C_FUNCTION)
		put(CLOSURE_OF(i) + 8, LUA_51_TAG | 1u << LUA_51_CLOSURE_IS_C);
}

/* The state is among what the native frame of that number keeps. */
static void keep_in(u32 frame, u32 state)
{
	put(STACK_VA + frame * STACK_BYTES + 8 + 8 * state, STATE_OF(state));
}

static bool any_instruction;	/* functions are not where their numbers say */

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
	if (!any_instruction)
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
	EACH_FORM {
		setup(LOOP_VA);
		push(0, 1, FRESH);
		push(0, 2, 0);
		push(0, 3, TAIL);
		push(0, 4, 0);
		STACK(C_VA, ROOT_VA);
		keep_in(0, 0);
		STREQ(walked(), "(3)43(1)21NR complete");
	}
}

TEST(lua_step_takes_the_instruction_of_the_loop_from_its_register)
{
	EACH_FORM {
		if (!slots[form].keeps_pc)
			continue;
		setup(LOOP_VA);
		push(0, 1, FRESH);
		push(0, 2, 0);
		/* It stored the first one. */
		put(form == ARRAY ? STATE_OF(0) + LUA_51_STATE_PC : last_call[0] + 32, CODE_OF(2) + 4);
		u.regs.reg[REG_RA == 30 ? 21 : 13] = CODE_OF(2) + 12;
		if (form == ARRAY) {		/* that is the next one; the current one comes before it */
			u.regs.reg[REG_RA == 30 ? 20 : 12] = CODE_OF(2) + 8;
			u.regs.reg[REG_RA == 30 ? 21 : 13] = 0;
			u.regs.reg[REG_RA == 30 ? 17 : 9] = CODE_OF(2) + 12;
		}
		STACK(C_VA, ROOT_VA);
		keep_in(0, 0);
		STREQ(walked(), "(1)21NR complete");
	}
}

/* 5.1, between the end of a call and the return of the instruction that comes next: that is in the call itself. */
TEST(lua_step_takes_the_instruction_from_the_call_where_the_state_has_another)
{
	form = ARRAY;
	setup(C_VA);
	push(0, 1, FRESH);
	push(0, 2, 0);
	put(last_call[0] + 24, CODE_OF(2) + 12);
	put(STATE_OF(0) + LUA_51_STATE_PC, CODE_OF(3) + 16);
	STACK(LOOP_VA, C_VA, ROOT_VA);
	keep_in(1, 0);
	STREQ(walked(), "N(1)21NR complete");
}

TEST(lua_step_puts_native_code_inside_of_functions_in_c)
{
	EACH_FORM {
		setup(C_VA);
		push(0, 1, FRESH);
		push(0, 2, 0);
		push(0, 5, C_FUNCTION);
		push(0, 3, FRESH);
		push(0, 6, C_FUNCTION | (form == ARRAY ? TAIL : 0));	/* left by another call */
		STACK(LOOP_VA, C_VA, LOOP_VA, C_VA, ROOT_VA);
		keep_in(1, 0);
		keep_in(3, 0);
		STREQ(walked(), "N(3)c3N(2)c(1)21NR complete");
	}
}

/* A metamethod, or a hook just before a call: the caller of a run's outermost is a function of Lua. */
TEST(lua_step_knows_runs_that_functions_of_lua_begin)
{
	EACH_FORM {
		for (u32 other = 0; other <= OTHER_REGISTER; other += OTHER_REGISTER) {
			setup(LOOP_VA);
			push(0, 1, FRESH);
			push(0, 2, FRESH | other);
			STACK(C_VA, LOOP_VA, C_VA, ROOT_VA);
			keep_in(0, 0);
			keep_in(2, 0);
			STREQ(walked(), "(1)2N1NR complete");
		}
	}
}

/* The frame of the one that was resumed may have words of the one that has resumed it, in either place. */
TEST(lua_step_goes_from_one_coroutine_to_that_which_has_resumed_it)
{
	EACH_FORM {
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
}

/* A program may call Lua without catching errors: what it has resumed does catch them. */
TEST(lua_step_takes_a_state_that_catches_nothing_for_the_first)
{
	form = ARRAY;
	setup(LOOP_VA);
	push(0, 1, FRESH);
	push(0, 5, C_FUNCTION);
	push(1, 2, FRESH);
	put(STATE_OF(0) + LUA_51_STATE_JUMP, 0);
	STACK(C_VA, LOOP_VA, C_VA, ROOT_VA);
	keep_in(0, 0);
	keep_in(0, 1);
	keep_in(2, 0);
	STREQ(walked(), "2N(1)c1NR complete");
}

/* 5.2 collects garbage when a call was made, and before it begins. */
TEST(lua_step_knows_calls_that_have_not_begun)
{
	for (form = LINKED; form < FORMS; form++) {
		static const struct { u32 flags; bool has_begun; const char *walked; } cases[] = {
			{ 0, false, "N(1)21NR complete" }, { FRESH, false, "N1NR complete" },
			{ FRESH, true, "N(1)2NR complete" },
		};

		for (u32 i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
			setup(C_VA);
			push(0, 1, FRESH);
			push(0, 2, cases[i].flags);
			if (!cases[i].has_begun)
				put(form == ARRAY ? STATE_OF(0) + LUA_51_STATE_PC : last_call[0] + 8 * slot->call_pc,
				    CODE_OF(2));
			STACK(LOOP_VA, C_VA, ROOT_VA);
			keep_in(1, 0);
			any_instruction = !cases[i].has_begun;
			STREQ(walked(), cases[i].walked);
			any_instruction = false;
		}
	}
}

/* A coroutine that has yielded in a metamethod inside of pcall(), and was resumed: there is one run of it. */
TEST(lua_step_finds_calls_of_runs_that_are_gone)
{
	for (form = 0; form < ARRAY; form++) {
		for (u32 other = 0; other < 4; other++) {
			u64 jump = STACK_VA + STACK_BYTES + 0x20 + (other == 1 ? STACK_BYTES : 0);

			setup(LOOP_VA);
			push(0, 1, FRESH);
			push(0, 5, C_FUNCTION);
			push(1, 2, FRESH);
			push(1, 6, C_FUNCTION | (other == 2 ? 0 : PROTECTED));
			push(1, 3, FRESH);
			push(1, 4, FRESH);
			put(STATE_OF(1) + slot->jump, STACK_VA - 0x40);
			put(STACK_VA - 0x40, jump);
			put(jump, other == 3 ? STACK_VA + 0x200 : 0);
			STACK(C_VA, LOOP_VA, C_VA, ROOT_VA);
			keep_in(0, 1);
			keep_in(2, 0);
			/* Too far away, one that cannot yield, caught elsewhere, too. */
			STREQ(walked(), other == 0 ? "(3)43(2)c2N(1)c1NR complete" :
			      other == 2 ? "(3)43N(1)c1NR complete" : "(3)4N(1)c1NR complete");
		}
	}
}

TEST(lua_step_knows_a_run_that_has_just_ended)
{
	EACH_FORM {
		setup(LOOP_VA);
		push(0, 1, FRESH);
		push(0, 5, C_FUNCTION);
		STACK(C_VA, LOOP_VA, C_VA, ROOT_VA);
		keep_in(0, 0);
		keep_in(2, 0);
		STREQ(walked(), "XN(1)c1NR complete");
	}
}

TEST(lua_step_shows_native_code_if_there_is_no_state)
{
	EACH_FORM {
		setup(LOOP_VA);
		push(0, 1, FRESH);
		STACK(C_VA, ROOT_VA);
		STREQ(walked(), "XNR complete");
		setup(LOOP_VA);
		STACK(C_VA, ROOT_VA);
		keep_in(0, 0);			/* nothing runs in it */
		STREQ(walked(), "XNR complete");
	}
}

/* What has the type of a state, and is none: an array that does not hold its calls. */
TEST(lua_step_does_not_take_any_words_for_a_state)
{
	static const struct { u64 at, word; } spoilt[] = {
		{ LUA_51_STATE_CALL, ARRAY_OF(0) + LUA_51_CALL_BYTES + 8 },
		{ LUA_51_STATE_CALL, ARRAY_OF(0) + LUA_51_CALL_BYTES * ARRAY_ROOM },
		{ LUA_51_STATE_CALL, 0 }, { LUA_51_STATE_FIRST, 0 }, { LUA_51_STATE_FIRST, ARRAY_OF(0) + 4 },
		{ LUA_51_STATE_LAST, ~0ull }, { LUA_51_STATE_SIZE, 0 }, { LUA_51_STATE_SIZE, 1ull << 63 },
	};

	form = ARRAY;
	for (u32 i = 0; i < sizeof(spoilt) / sizeof(spoilt[0]); i++) {
		setup(LOOP_VA);
		push(0, 1, FRESH);
		put(STATE_OF(0) + spoilt[i].at, spoilt[i].word);
		STACK(C_VA, ROOT_VA);
		keep_in(0, 0);
		STREQ(walked(), "XNR complete");
	}
}

TEST(lua_step_ends_at_what_is_no_function)
{
	EACH_FORM {
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
}

TEST(lua_step_does_not_go_round_in_a_circle)
{
	for (form = 0; form < ARRAY; form++) {
		setup(LOOP_VA);
		push(0, 1, 0);
		push(0, 2, 0);
		put(CALL_OF(2) + 16, CALL_OF(3));
		if (form == LINKED) {
			put(CALL_OF(3) + 8 * slot->call_base, VALUE_OF(3));
			put_calling(0, VALUE_OF(3));
		}
		STACK(C_VA, ROOT_VA);
		keep_in(0, 0);
		while (!native_step(&u))
			;
		OK(u.trace.end != END_COMPLETE);
	}
}

/* Any words at all: it must end. */
TEST(lua_step_ends_whatever_is_in_memory)
{
	u64 random = 1;

	for (u32 round = 0; round < 9000; round++) {
		form = round / 2 % FORMS;
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
