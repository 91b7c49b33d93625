// SPDX-License-Identifier: Apache-2.0
#include "lang/luajit/luajit.h"

#include <errno.h>

#include "forge_damage.h"
#include "forge_luajit.h"
#include "lang/named.h"
#include "runtime_names.h"
#include "test.h"

extern const struct lang_ops luajit_ops;

static int attach(u64 has_loop, struct runtime_slot *ret_slot, void **ret_state)
{
	struct luajit_facts facts = { .has_loop = has_loop, .running = 376, .number = 144, .traces = 1648 };

	return runtime_attach(&luajit_ops, &facts, sizeof(facts), 0, ret_slot, ret_state);
}

static const char *name(void *state, u64 pc_va, u64 caller_va)
{
	struct lang_process process = { .pid = (u32)getpid() };
	u64 frame[2];

	luajit_frame_of(pc_va, caller_va, frame);
	return runtime_name(&luajit_ops, &process, state, frame);
}

TEST(luajit_names_functions_as_calls_do)
{
	struct forge_luajit l = forge_luajit();
	struct runtime_slot slot = { 0 };
	void *state = NULL;

	EQ(attach(1, &slot, &state), 0);
	STREQ(name(state, luajit_code(l.callee, 1), luajit_code(l.caller, LUAJIT_AT_GLOBAL)), "print /a/other.lua:51");
	STREQ(name(state, luajit_code(l.callee, 0), luajit_code(l.caller, LUAJIT_AT_FIELD)), "close /a/other.lua:50");
	STREQ(name(state, luajit_code(l.callee, 3), luajit_code(l.caller, LUAJIT_AT_LOCAL)), "visit /a/other.lua:53");
	STREQ(name(state, luajit_code(l.callee, 3), luajit_code(l.caller, LUAJIT_AT_UPVALUE)),
	      "captured /a/other.lua:53");
	STREQ(name(state, luajit_code(l.callee, 3), luajit_code(l.caller, LUAJIT_AT_NAMELESS)),
	      "function </a/other.lua:50> /a/other.lua:53");
	STREQ(name(state, luajit_code(l.callee, 3), luajit_code(l.caller, LUAJIT_AT_ITERATOR)),
	      "(for generator) /a/other.lua:53");
	STREQ(name(state, luajit_code(l.callee, 3), luajit_code(l.caller, LUAJIT_AT_OPERATOR)),
	      "__index /a/other.lua:53");
	STREQ(name(state, luajit_code(l.callee, 3), 0), "function </a/other.lua:50> /a/other.lua:53");
	STREQ(name(state, luajit_code(l.chunk, 2), 0), "main chunk [string]:2");
	/* Of functions in C nothing but the name is known. */
	STREQ(name(state, 0, luajit_code(l.caller, LUAJIT_AT_GLOBAL)), "print :0");
	STREQ(name(state, 0, luajit_code(l.caller, LUAJIT_AT_NAMELESS)), "[C] :0");
	luajit_ops.detach(state);
}

TEST(luajit_finds_the_function_of_an_instruction_far_from_its_start)
{
	struct forge_luajit l = forge_luajit();
	struct runtime_slot slot = { 0 };
	void *state = NULL;

	EQ(attach(1, &slot, &state), 0);
	STREQ(name(state, luajit_code(l.caller, 299), 0), "function </a/main.lua:10> /a/main.lua:309");
	/* Later releases have instructions with numbers that headers had: there is no prototype before one. */
	luajit_put(luajit_code(l.caller, 250), 90, 4);
	luajit_put(luajit_code(l.caller, 0), 96, 4);
	STREQ(name(state, luajit_code(l.caller, 299), 0), "function </a/main.lua:10> /a/main.lua:309");
	luajit_ops.detach(state);
}

/* All lines of a frame, innermost first. */
static const char *lines(void *state, const u64 frame[2])
{
	struct lang_process process = { .pid = (u32)getpid() };
	const struct window_frame *found;
	static char text[512];
	struct named names;

	named_init(&names);
	found = named_find(&names, &luajit_ops, state, &process, frame, 0);
	OK(found);
	text[0] = 0;
	for (u32 i = 0; i < found->line_count; i++)
		(void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s:%u ", found->lines[i].function,
			       found->lines[i].line);
	named_done(&names);
	return text;
}

TEST(luajit_names_the_functions_that_a_trace_goes_through)
{
	struct forge_luajit l = forge_luajit();
	struct runtime_slot slot = { 0 };
	void *state = NULL;
	u64 frame[2];

	EQ(attach(1, &slot, &state), 0);
	luajit_trace_frame_of(l.trace, 8, luajit_code(l.caller, LUAJIT_AT_GLOBAL), frame);
	STREQ(lines(state, frame), "print:15 ");
	luajit_trace_frame_of(l.trace, 40, luajit_code(l.caller, LUAJIT_AT_GLOBAL), frame);
	STREQ(lines(state, frame), "visit:52 print:16 ");
	/* Past its code, or with a link that is not there: where it begins. */
	luajit_trace_frame_of(l.trace, 64, luajit_code(l.caller, LUAJIT_AT_GLOBAL), frame);
	STREQ(lines(state, frame), "print:11 ");
	luajit_put(l.trace + 84, 65, 4);
	luajit_trace_frame_of(l.trace, 64, 0, frame);
	STREQ(lines(state, frame), "visit:52 function </a/main.lua:10>:16 ");
	luajit_put(l.trace + LUAJIT_OBJECT_TYPE, LUAJIT_TYPE_STRING, 1);
	luajit_trace_frame_of(l.trace, 8, 0, frame);
	STREQ(lines(state, frame), "[luajit frame without a name]:0 ");
	luajit_ops.detach(state);
}

TEST(luajit_does_not_name_what_is_another_object_by_now)
{
	struct forge_luajit l = forge_luajit();
	struct runtime_slot slot = { 0 };
	void *state = NULL;

	EQ(attach(1, &slot, &state), 0);
	STREQ(name(state, luajit_code(l.callee, 4), 0), "?");	/* it has no such instruction */
	STREQ(name(state, 0x1000, 0), "?");
	luajit_put(l.callee + LUAJIT_OBJECT_TYPE, 4, 1);
	STREQ(name(state, luajit_code(l.callee, 1), luajit_code(l.caller, LUAJIT_AT_GLOBAL)), "?");
	luajit_put(l.callee + LUAJIT_OBJECT_TYPE, LUAJIT_TYPE_PROTO, 1);
	STREQ(name(state, luajit_code(l.callee, 1), 0x1000), "function </a/other.lua:50> /a/other.lua:51");
	luajit_ops.detach(state);
}

TEST(luajit_tells_the_kernel_half_where_things_are)
{
	struct runtime_slot slot = { 0 };
	struct luajit_slot words;
	void *state = NULL;

	EQ(attach(1, &slot, &state), 0);
	memcpy(&words, slot.word, sizeof(words));
	EQ(words.running, 376);
	EQ(words.number, 144);
	EQ(words.traces, 1648);
	luajit_ops.detach(state);
	EQ(attach(0, &slot, &state), -EOPNOTSUPP);
}

TEST(luajit_owns_memory_that_begins_as_its_areas_do)
{
	struct lang_process process = { .pid = (u32)getpid() };
	struct forge_luajit l = forge_luajit();
	struct runtime_slot slot = { 0 };
	void *state = NULL;

	(void)l;
	EQ(attach(1, &slot, &state), 0);
	OK(!luajit_ops.owns(state, &process, LUAJIT_VA, LUAJIT_VA + LUAJIT_BYTES));
	luajit_put(LUAJIT_VA + 8, 0x2000, 8);
	OK(luajit_ops.owns(state, &process, LUAJIT_VA, LUAJIT_VA + LUAJIT_BYTES));
	OK(!luajit_ops.owns(state, &process, LUAJIT_VA, LUAJIT_VA + 0x1000));
	luajit_put(LUAJIT_VA, 0x2008, 8);
	OK(!luajit_ops.owns(state, &process, LUAJIT_VA, LUAJIT_VA + LUAJIT_BYTES));
	OK(!luajit_ops.owns(state, &process, 0x1000, 0x3000));
	luajit_ops.detach(state);
}

/* Any words at all in its memory: what comes out is a name or none. */
TEST(luajit_survives_whatever_is_in_memory)
{
	u64 random = 1;

	for (u32 round = 0; round < 600; round++) {
		struct forge_luajit l = forge_luajit();
		struct runtime_slot slot = { 0 };
		u8 damage[12 * 40];
		void *state = NULL;
		u64 frame[2];

		EQ(attach(1, &slot, &state), 0);
		forge_random(&random, damage, sizeof(damage));
		/* Half of the words point into it. */
		for (u32 i = 0; i + 12 <= sizeof(damage) && round & 1; i += 12)
			memcpy(damage + i + 4, (u64[]){ LUAJIT_VA + 8 * damage[i] * (damage[i + 1] & 15) }, 8);
		forge_damage(damage, sizeof(damage), LUAJIT_VA, l.free_va - LUAJIT_VA, luajit_put);
		for (u32 pc = 0; pc < 13; pc++)
			(void)name(state, luajit_code(l.callee, pc & 3), luajit_code(l.caller, pc));
		(void)name(state, luajit_code(l.caller, 299), 0);
		luajit_trace_frame_of(l.trace, 40, luajit_code(l.caller, 2), frame);
		(void)lines(state, frame);
		luajit_ops.detach(state);
	}
}
