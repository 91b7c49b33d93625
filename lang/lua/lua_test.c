// SPDX-License-Identifier: Apache-2.0
#include "lang/lua/lua.h"

#include <errno.h>

#include "forge_damage.h"
#include "forge_lua.h"
#include "lang/named.h"
#include "runtime_names.h"
#include "test.h"

extern const struct lang_ops lua_ops;

static const u32 releases[] = { LUA_RELEASE(1, 5), LUA_RELEASE(2, 4), LUA_RELEASE(3, 6), LUA_RELEASE(4, 4) };
#define RELEASES (sizeof(releases) / sizeof(releases[0]))

static int attach(u64 release, u64 has_loop, struct runtime_slot *ret_slot, void **ret_state)
{
	struct lua_facts facts = { .release = release, .has_loop = has_loop };

	return runtime_attach(&lua_ops, &facts, sizeof(facts), 0, ret_slot, ret_state);
}

static const char *name(void *state, u64 proto, u64 pc, u64 caller, u64 caller_pc)
{
	struct lang_process process = { .pid = (u32)getpid() };
	u64 frame[2];

	lua_frame_of(proto, pc, caller, caller_pc, frame);
	return runtime_name(&lua_ops, &process, state, frame);
}

TEST(lua_names_functions_as_calls_do_in_every_version)
{
	for (u32 i = 0; i < RELEASES; i++) {
		struct forge_lua l = forge_lua(releases[i]);
		struct runtime_slot slot = { 0 };
		void *state = NULL;

		EQ(attach(releases[i], 1, &slot, &state), 0);
		STREQ(name(state, l.callee, 1, l.caller, LUA_AT_GLOBAL), "print /a/other.lua:52");
		STREQ(name(state, l.callee, 0, l.caller, LUA_AT_METHOD), "close /a/other.lua:51");
		STREQ(name(state, l.callee, 3, l.caller, LUA_AT_LOCAL), "visit /a/other.lua:54");
		STREQ(name(state, l.callee, 3, l.caller, LUA_AT_UPVALUE), "captured /a/other.lua:54");
		STREQ(name(state, l.callee, 3, l.caller, LUA_AT_NAMELESS),
		      "function </a/other.lua:50> /a/other.lua:54");
		/* Tracebacks of 5.1 know these only by the variable that they are in. */
		STREQ(name(state, l.callee, 3, l.caller, LUA_AT_ITERATOR),
		      releases[i] < LUA_RELEASE(2, 0) ? "(for generator) /a/other.lua:54" :
		      "for iterator /a/other.lua:54");
		STREQ(name(state, l.callee, 3, l.caller, LUA_AT_OPERATOR),
		      releases[i] < LUA_RELEASE(2, 0) ? "function </a/other.lua:50> /a/other.lua:54" :
		      "metamethod /a/other.lua:54");
		STREQ(name(state, l.callee, 3, 0, 0), "function </a/other.lua:50> /a/other.lua:54");
		STREQ(name(state, l.chunk, 1, 0, 0), "main chunk [string]:2");
		/* Of functions in C nothing but the name is known. */
		STREQ(name(state, 0, LUA_PC_NONE, l.caller, LUA_AT_GLOBAL), "print :0");
		STREQ(name(state, 0, LUA_PC_NONE, l.caller, LUA_AT_NAMELESS), "[C] :0");
		lua_ops.detach(state);
	}
}

TEST(lua_finds_lines_far_from_the_first)
{
	for (u32 i = 0; i < RELEASES; i++) {
		struct forge_lua l = forge_lua(releases[i]);
		static const u32 pcs[] = { 0, 1, 127, 128, 129, 255, 256, 299 };
		struct runtime_slot slot = { 0 };
		void *state = NULL;

		EQ(attach(releases[i], 1, &slot, &state), 0);
		for (u32 j = 0; j < sizeof(pcs) / sizeof(pcs[0]); j++) {
			char expected[64];

			(void)snprintf(expected, sizeof(expected), "function </a/main.lua:10> /a/main.lua:%u",
				       11 + pcs[j]);
			STREQ(name(state, l.caller, pcs[j], 0, 0), expected);
		}
		STREQ(name(state, l.caller, LUA_PC_NONE, 0, 0), "function </a/main.lua:10> /a/main.lua:0");
		lua_ops.detach(state);
	}
}

TEST(lua_does_not_name_what_is_another_object_by_now)
{
	struct forge_lua l = forge_lua(LUA_RELEASE(4, 4));
	struct runtime_slot slot = { 0 };
	void *state = NULL;

	EQ(attach(LUA_RELEASE(4, 4), 1, &slot, &state), 0);
	STREQ(name(state, l.callee, 4, l.caller, LUA_AT_GLOBAL), "?");	/* it has no such instruction */
	STREQ(name(state, 0x1000, 0, 0, 0), "?");
	lua_put(l.callee + 8, 4, 1);
	STREQ(name(state, l.callee, 0, l.caller, LUA_AT_GLOBAL), "?");
	lua_put(l.callee + 8, 10, 1);
	lua_put(l.caller + 8, 4, 1);
	STREQ(name(state, l.callee, 0, l.caller, LUA_AT_GLOBAL), "function </a/other.lua:50> /a/other.lua:51");
	STREQ(name(state, l.callee, 0, 0x1000, 1), "function </a/other.lua:50> /a/other.lua:51");
	lua_ops.detach(state);
}

TEST(lua_tells_the_kernel_half_where_things_are)
{
	struct runtime_slot slot = { 0 };
	struct lua_slot words;
	void *state = NULL;

	EQ(attach(LUA_RELEASE(4, 7), 1, &slot, &state), 0);
	memcpy(&words, slot.word, sizeof(words));
	EQ(words.depth, 176);
	EQ(words.call_pc, 4);
	EQ(words.call_status, 7);
	EQ(words.call_status_shift, 48);
	EQ(words.keeps_pc, 1);
	EQ(words.loop_call, 0);
	EQ(words.jump, 88);
	EQ(words.protected, 16);
	lua_ops.detach(state);
	EQ(attach(LUA_RELEASE(1, 4), 1, &slot, &state), 0);
	memcpy(&words, slot.word, sizeof(words));
	EQ(words.is_array, 1);
	EQ(words.call_function, 1);
	EQ(words.call_base, 0);
	EQ(words.call_pc, 3);
	EQ(words.call_status, 4);
	EQ(words.call_status_shift, 32);
	EQ(words.loop_call, 28);
	EQ(words.closure_proto, 32);
	EQ(words.jump, 0);
	lua_ops.detach(state);
	EQ(attach(LUA_RELEASE(2, 1), 1, &slot, &state), 0);
	memcpy(&words, slot.word, sizeof(words));
	EQ(words.is_array, 0);
	EQ(words.depth, 70);
	EQ(words.call_base, 6);
	EQ(words.call_pc, 7);
	EQ(words.call_status, 4);
	EQ(words.call_status_shift, 16);
	EQ(words.loop_call, 29);
	EQ(words.keeps_pc, 0);
	lua_ops.detach(state);
}

/* function() f(function() return up end) end: behind the inner one stands what it captures, as if it set a register. */
TEST(lua_knows_instructions_that_only_say_what_a_closure_captures)
{
	struct forge_lua l = forge_lua(LUA_RELEASE(1, 5));
	const struct lua_codes *codes = &l.layout->codes;
	struct runtime_slot slot = { 0 };
	void *state = NULL;
	u64 code;
	const u32 codes_at[] = {
		lua_global(&l, 0), lua_code(&l, codes->closure, 1, 0, 0), lua_code(&l, codes->get_upvalue, 0, 1, 0),
		lua_code(&l, codes->move, 0, 0, 0), lua_code(&l, codes->call, 0, 2, 1),
		lua_code(&l, codes->get_upvalue, 0, 1, 0), lua_code(&l, codes->call, 0, 1, 1),
		lua_global(&l, 0), lua_code(&l, codes->load_nil, 1, 3, 0), lua_code(&l, codes->call, 0, 2, 1),
		lua_code(&l, codes->load_nil, 0, 0, 0), lua_code(&l, codes->call, 0, 2, 1),
	};

	memcpy(&code, (void *)(uintptr_t)(l.caller + l.layout->code), sizeof(code));
	memcpy((void *)(uintptr_t)code, codes_at, sizeof(codes_at));
	lua_put(l.caller + l.layout->local_count, 0, 4);
	EQ(attach(LUA_RELEASE(1, 5), 1, &slot, &state), 0);
	STREQ(name(state, l.callee, 3, l.caller, 4), "print /a/other.lua:54");
	STREQ(name(state, l.callee, 3, l.caller, 6), "captured /a/other.lua:54");
	STREQ(name(state, l.callee, 3, l.caller, 9), "print /a/other.lua:54");
	STREQ(name(state, l.callee, 3, l.caller, 11), "function </a/other.lua:50> /a/other.lua:54");
	lua_ops.detach(state);
}

TEST(lua_refuses_what_it_cannot_read)
{
	static const u32 others[] = { 0, LUA_RELEASE(0, 3), LUA_RELEASE(1, 0), LUA_RELEASE(1, 6), LUA_RELEASE(2, 0),
				      LUA_RELEASE(2, 5), LUA_RELEASE(4, 2), LUA_RELEASE(5, 0) };
	struct runtime_slot slot = { 0 };
	void *state = NULL;

	for (u32 i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		EQ(attach(others[i], 1, &slot, &state), -EOPNOTSUPP);
	EQ(attach(LUA_RELEASE(4, 4), 0, &slot, &state), -EOPNOTSUPP);
}

/* Any words at all in its memory: what comes out is a name or none. */
TEST(lua_survives_whatever_is_in_memory)
{
	u64 random = 1;

	for (u32 round = 0; round < 1200; round++) {
		u32 release = releases[round % RELEASES];
		struct forge_lua l = forge_lua(release);
		struct runtime_slot slot = { 0 };
		void *state = NULL;
		u8 damage[12 * 40];

		EQ(attach(release, 1, &slot, &state), 0);
		forge_random(&random, damage, sizeof(damage));
		/* Half of the words point into it. */
		for (u32 i = 0; i + 12 <= sizeof(damage) && round & 1; i += 12)
			memcpy(damage + i + 4, (u64[]){ LUA_VA + 8 * damage[i] * (damage[i + 1] & 15) }, 8);
		forge_damage(damage, sizeof(damage), LUA_VA, l.free_va - LUA_VA, lua_put);
		for (u32 pc = 0; pc < 12; pc++)
			(void)name(state, l.callee, pc & 3, l.caller, pc);
		(void)name(state, l.caller, 299, 0, 0);
		lua_ops.detach(state);
	}
}
