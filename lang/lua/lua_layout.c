// SPDX-License-Identifier: Apache-2.0
#include "lang/lua/lua_layout.h"

#include <stddef.h>

#define BITS(from, to) ((~0ull >> (63 - (to))) & (~0ull << (from)))

/*
 * lstate.h, lobject.h, lopcodes.h of 5.1.1 and 5.1.5, 5.2.1 and 5.2.4, 5.3.6, 5.4.4. One that says that it is 5.1 and
 * nothing more may be of before the release; 5.2.0 has shorter calls, early releases of 5.3 have the status of a state
 * elsewhere, and in 5.4.0 to 5.4.2 a state counts the calls that it may still do.
 */
static const struct lua_layout known[] = {
	{
		.oldest = LUA_RELEASE(1, 1), .newest = LUA_RELEASE(1, 5),
		.status = 10, .call_function = 8, .call_base = 0, .call_pc = 24, .call_status = 36, .tail = 0xffffffff,
		.is_array = true, .keeps_pc = true, .closure_proto = 32, .proto_type = 9, .upvalue_bytes = 8,
		.upvalue_count = 72, .constant_count = 76, .code_count = 80, .line_count = 84,
		.local_count = 92, .first_line = 96, .constants = 16, .code = 24, .lines = 40, .locals = 48,
		.upvalues = 56, .source = 64,
		.codes = {
			.op = { 0, 6 }, .a = { 6, 8 }, .b = { 23, 9 }, .c = { 14, 9 }, .bx = { 14, 18 },
			.marks_constants = true, .nil_is_up_to_b = true, .names_locals_only = true,
			.move = 0, .load_nil = 3, .get_upvalue = 4, .get_global = 5, .get_in_upvalue = 0xff,
			.get_in_table = 6, .get_field = 0xff, .self = 11, .call = 28, .tail_call = 29, .for_call = 33,
			.var_arg = 37, .closure = 36,
			.sets = { BITS(0, 6) | BITS(10, 21) | BITS(26, 29) | BITS(31, 32) | BITS(36, 37) },
		},
	},
	{
		.oldest = LUA_RELEASE(2, 1), .newest = LUA_RELEASE(2, 4),
		.status = 10, .depth = 70, .call_base = 48, .call_pc = 56, .call_status = 34, .tail = 64,
		.jump = 112, .protected = 16, .closure_proto = 24, .proto_type = 9, .upvalue_bytes = 16,
		.upvalue_count = 80, .constant_count = 84, .code_count = 88, .line_count = 92,
		.local_count = 100, .first_line = 104, .constants = 16, .code = 24, .lines = 40, .locals = 48,
		.upvalues = 56, .source = 72,
		.codes = {
			.op = { 0, 6 }, .a = { 6, 8 }, .b = { 23, 9 }, .c = { 14, 9 }, .marks_constants = true,
			.move = 0, .load_nil = 4, .get_upvalue = 5, .get_global = 0xff, .get_in_upvalue = 6,
			.get_in_table = 7, .get_field = 0xff, .self = 12, .call = 29, .tail_call = 30, .for_call = 34,
			.var_arg = 38, .closure = 0xff,
			.sets = { BITS(0, 7) | BITS(11, 22) | BITS(27, 30) | BITS(32, 33) | BITS(35, 35) |
				  BITS(37, 38) },
		},
	},
	{
		.oldest = LUA_RELEASE(3, 5), .newest = LUA_RELEASE(3, 6),
		.status = 12, .depth = 198, .call_pc = 40, .call_status = 66, .fresh = 8, .tail = 32,
		.jump = 88, .protected = 16, .closure_proto = 24, .proto_type = 9, .upvalue_bytes = 16,
		.upvalue_count = 16, .constant_count = 20, .code_count = 24, .line_count = 28,
		.local_count = 36, .first_line = 40, .constants = 48, .code = 56, .lines = 72, .locals = 80,
		.upvalues = 88, .source = 104,
		.codes = {
			.op = { 0, 6 }, .a = { 6, 8 }, .b = { 23, 9 }, .c = { 14, 9 }, .marks_constants = true,
			.move = 0, .load_nil = 4, .get_upvalue = 5, .get_global = 0xff, .get_in_upvalue = 6,
			.get_in_table = 7, .get_field = 0xff, .self = 12, .call = 36, .tail_call = 37, .for_call = 41,
			.var_arg = 45, .closure = 0xff,
			.sets = { BITS(0, 7) | BITS(11, 29) | BITS(35, 37) | BITS(39, 40) | BITS(42, 42) |
				  BITS(44, 45) },
		},
	},
	{
		.oldest = LUA_RELEASE(4, 3), .newest = LUA_RELEASE(4, 8),
		.status = 10, .depth = 176, .call_pc = 32, .call_status = 62, .fresh = 4, .tail = 32,
		.jump = 88, .protected = 16, .keeps_pc = true,
		.closure_proto = 24, .proto_type = 10, .upvalue_bytes = 16,
		.upvalue_count = 16, .constant_count = 20, .code_count = 24, .line_count = 28,
		.local_count = 36, .first_line = 44, .constants = 56, .code = 64, .upvalues = 80, .lines = 88,
		.far_lines = 96, .locals = 104, .source = 112,
		.codes = {
			.op = { 0, 7 }, .a = { 7, 8 }, .b = { 16, 8 }, .c = { 24, 8 },
			.move = 0, .load_nil = 8, .get_upvalue = 9, .get_global = 0xff, .get_in_upvalue = 11,
			.get_in_table = 0xff, .get_field = 14, .self = 20, .call = 68, .tail_call = 69, .for_call = 76,
			.var_arg = 80, .closure = 0xff,
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
