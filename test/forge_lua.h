/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A made-up Lua: functions in our own memory, as each version lays them out, read as those of another process. There is
 * a caller, whose instructions call a global, a field, a method, a local variable, one that was captured, and one
 * without a name; and a function that it calls.
 */
#ifndef TEST_FORGE_LUA_H
#define TEST_FORGE_LUA_H

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lang/lang.h"
#include "lang/lua/lua.h"
#include "lang/lua/lua_file.h"
#include "test.h"

#define LUA_VA 0x240000000000ull
#define LUA_BYTES 0x4000u
#define LUA_CODES 300		/* instructions of the caller */

/* Where the caller calls what. */
enum lua_call_at { LUA_AT_GLOBAL = 1, LUA_AT_METHOD = 3, LUA_AT_LOCAL = 5, LUA_AT_UPVALUE = 7, LUA_AT_NAMELESS = 9,
		   LUA_AT_ITERATOR = 10, LUA_AT_OPERATOR = 11 };

struct forge_lua {
	const struct lua_layout *layout;
	u64 free_va;
	u64 caller, callee, chunk;
};

static inline void lua_put(u64 va, u64 word, size_t bytes)
{
	asm("" : "+r"(va));	/* a compiler that knows the number takes it for no object's */
	memcpy((void *)(uintptr_t)va, &word, bytes);
}

static inline u64 lua_take(struct forge_lua *l, u64 bytes)
{
	u64 va = l->free_va;

	l->free_va += (bytes + 15) & ~15ull;
	OK(l->free_va <= LUA_VA + LUA_BYTES);
	return va;
}

static inline u64 lua_string(struct forge_lua *l, const char *text)
{
	u64 va = lua_take(l, 24 + strlen(text) + 1);

	lua_put(va + 8, 4, 1);
	memcpy((void *)(uintptr_t)(va + 24), text, strlen(text));
	return va;
}

static inline u32 lua_code(const struct forge_lua *l, u32 op, u32 a, u32 b, u32 c)
{
	const struct lua_codes *codes = &l->layout->codes;

	return op << codes->op.first | a << codes->a.first | b << codes->b.first | c << codes->c.first;
}

/* A field that is a constant. */
static inline u32 lua_constant(const struct forge_lua *l, u32 number)
{
	return l->layout->codes.marks_constants ? number | 1u << (l->layout->codes.c.bits - 1) : number;
}

/* The instruction that loads the global "print" into a register. */
static inline u32 lua_global(const struct forge_lua *l, u32 reg)
{
	const struct lua_codes *codes = &l->layout->codes;

	if (codes->get_global != 0xff)
		return (u32)codes->get_global << codes->op.first | reg << codes->a.first | 0u << codes->bx.first;
	return lua_code(l, codes->get_in_upvalue, reg, 0, lua_constant(l, 0));
}

/* Lines: each instruction is on the next one; those of 5.4 are steps, and each 128th is among the far ones. */
static inline void lua_lines(struct forge_lua *l, u64 proto, u32 first_line, u32 count)
{
	u64 lines = lua_take(l, 4ull * count), far = lua_take(l, 8ull * (count / 128 + 1));
	u32 far_count = 0;

	for (u32 i = 0; i < count; i++) {
		bool is_far = i && i % 128 == 0;

		if (!l->layout->far_lines)
			lua_put(lines + 4ull * i, first_line + i + 1, 4);
		else
			lua_put(lines + i, is_far ? 0x80 : 1, 1);
		if (is_far)
			lua_put(far + 8ull * far_count++, i | (u64)(first_line + i + 1) << 32, 8);
	}
	lua_put(proto + l->layout->lines, lines, 8);
	lua_put(proto + l->layout->line_count, count, 4);
	if (l->layout->far_lines) {
		lua_put(proto + l->layout->far_lines, far, 8);
		lua_put(proto + l->layout->first_line - 4, far_count, 4);
	}
	lua_put(proto + l->layout->first_line, first_line, 4);
}

static inline u64 lua_proto(struct forge_lua *l, const char *source, u32 first_line, u32 count)
{
	u64 va = lua_take(l, 128), code = lua_take(l, 4ull * count);

	lua_put(va + 8, l->layout->proto_type, 1);
	lua_put(va + l->layout->code, code, 8);
	lua_put(va + l->layout->code_count, count, 4);
	lua_put(va + l->layout->source, lua_string(l, source), 8);
	lua_lines(l, va, first_line, count);
	return va;
}

static inline void lua_values(struct forge_lua *l, u64 proto)
{
	const struct lua_layout *layout = l->layout;
	u64 constants = lua_take(l, 32), upvalues = lua_take(l, 32), locals = lua_take(l, 32);

	lua_put(constants, lua_string(l, "print"), 8);
	lua_put(constants + 8, 0x44, 1);
	lua_put(constants + 16, lua_string(l, "close"), 8);
	lua_put(constants + 24, 0x44, 1);
	lua_put(upvalues, lua_string(l, "_ENV"), 8);
	lua_put(upvalues + layout->upvalue_bytes, lua_string(l, "captured"), 8);
	lua_put(locals, lua_string(l, "visit"), 8);
	lua_put(locals + 8, 1000ull << 32, 8);
	lua_put(locals + 16, lua_string(l, "(for generator)"), 8);
	lua_put(locals + 24, LUA_AT_ITERATOR | 1000ull << 32, 8);
	lua_put(proto + layout->constants, constants, 8);
	lua_put(proto + layout->constant_count, 2, 4);
	lua_put(proto + layout->upvalues, upvalues, 8);
	lua_put(proto + layout->upvalue_count, 2, 4);
	lua_put(proto + layout->locals, locals, 8);
	lua_put(proto + layout->local_count, 2, 4);
}

static inline struct forge_lua forge_lua(u32 release)
{
	struct forge_lua l = { .layout = lua_layout_of(release), .free_va = LUA_VA + 0x100 };
	void *at = mmap((void *)(uintptr_t)LUA_VA, LUA_BYTES, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	const struct lua_codes *codes = &l.layout->codes;
	u64 code;

	OK(at != MAP_FAILED);
	l.caller = lua_proto(&l, "@/a/main.lua", 10, LUA_CODES);
	l.callee = lua_proto(&l, "@/a/other.lua", 50, 4);
	l.chunk = lua_proto(&l, "return 1", 0, 4);
	lua_values(&l, l.caller);
	memcpy(&code, (void *)(uintptr_t)(l.caller + l.layout->code), sizeof(code));
	const u32 codes_at[] = {
		lua_global(&l, 3), lua_code(&l, codes->call, 3, 1, 1),
		lua_code(&l, codes->self, 3, 0, lua_constant(&l, 1)), lua_code(&l, codes->call, 3, 1, 1),
		lua_code(&l, codes->move, 3, 0, 0), lua_code(&l, codes->call, 3, 1, 1),
		lua_code(&l, codes->get_upvalue, 3, 1, 0), lua_code(&l, codes->call, 3, 1, 1),
		lua_code(&l, codes->call, 2, 1, 2), lua_code(&l, codes->call, 3, 1, 1),
		lua_code(&l, codes->for_call, 1, 0, 1), lua_global(&l, 3),
	};
	memcpy((void *)(uintptr_t)code, codes_at, sizeof(codes_at));
	return l;
}

/* The words of a frame, as the kernel half pushes them. */
static inline void lua_frame_of(u64 proto, u64 pc, u64 caller, u64 caller_pc, u64 ret_frame[2])
{
	u64 places = lua_places(pc, caller_pc);

	ret_frame[0] = (u64)FRAME_RUNTIME << FRAME_KIND_SHIFT | (u64)LANG_LUA << FRAME_LANG_SHIFT |
		       lua_first_word(proto, places);
	ret_frame[1] = lua_second_word(caller, places);
}

#endif
