// SPDX-License-Identifier: Apache-2.0
#include "lang/lua/lua_layout.h"

#include <stddef.h>

#define BITS(from, to) ((~0ull >> (63 - (to))) & (~0ull << (from)))

/*
 * lstate.h, lobject.h, lopcodes.h of 5.3.6 and 5.4.4. In 5.4.0 to 5.4.2 a state counts the calls that it may still
 * do, and early releases of 5.3 have its status elsewhere.
 */
static const struct lua_layout known[] = {
	{
		.oldest = LUA_RELEASE(3, 5), .newest = LUA_RELEASE(3, 6),
		.status = 12, .depth = 198, .call_pc = 40, .call_status = 66, .fresh = 8, .tail = 32,
		.proto_type = 9, .upvalue_count = 16, .constant_count = 20, .code_count = 24, .line_count = 28,
		.local_count = 36, .first_line = 40, .constants = 48, .code = 56, .lines = 72, .locals = 80,
		.upvalues = 88, .source = 104,
		.codes = {
			.op = { 0, 6 }, .a = { 6, 8 }, .b = { 23, 9 }, .c = { 14, 9 }, .marks_constants = true,
			.move = 0, .load_nil = 4, .get_upvalue = 5, .get_in_upvalue = 6, .get_in_table = 7,
			.get_field = 0xff, .self = 12, .call = 36, .tail_call = 37, .for_call = 41, .var_arg = 45,
			.sets = { BITS(0, 7) | BITS(11, 29) | BITS(35, 37) | BITS(39, 40) | BITS(42, 42) |
				  BITS(44, 45) },
		},
	},
	{
		.oldest = LUA_RELEASE(4, 3), .newest = LUA_RELEASE(4, 8),
		.status = 10, .depth = 176, .call_pc = 32, .call_status = 62, .fresh = 4, .tail = 32,
		.keeps_pc = true,
		.proto_type = 10, .upvalue_count = 16, .constant_count = 20, .code_count = 24, .line_count = 28,
		.local_count = 36, .first_line = 44, .constants = 56, .code = 64, .upvalues = 80, .lines = 88,
		.far_lines = 96, .locals = 104, .source = 112,
		.codes = {
			.op = { 0, 7 }, .a = { 7, 8 }, .b = { 16, 8 }, .c = { 24, 8 },
			.move = 0, .load_nil = 8, .get_upvalue = 9, .get_in_upvalue = 11, .get_in_table = 0xff,
			.get_field = 14, .self = 20, .call = 68, .tail_call = 69, .for_call = 76, .var_arg = 80,
			.sets = { BITS(0, 9) | BITS(11, 14) | BITS(19, 45) | BITS(49, 53),
				  BITS(67 - 64, 69 - 64) | BITS(73 - 64, 74 - 64) | BITS(77 - 64, 77 - 64) |
				  BITS(79 - 64, 81 - 64) },
		},
	},
};

const struct lua_layout *lua_layout_of(u32 release)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (release >= known[i].oldest && release <= known[i].newest)
			return &known[i];
	return NULL;
}
