// SPDX-License-Identifier: Apache-2.0
#include "lang/lua/lua_names.h"

#include <stdio.h>
#include <string.h>

#include "lang/memory.h"

/* struct TString: type, text; the same in 5.1 to 5.4 */
#define OBJECT_TYPE 8
#define STRING_TEXT 24
#define TYPE_STRING 4
#define TYPE_MASK 15
#define VALUE_BYTES 16
#define VALUE_TAG 8
#define LOCAL_BYTES 16		/* struct LocVar: name, u32 from, u32 to */
#define FAR_BYTES 8		/* struct AbsLineInfo: u32 instruction, u32 line */
#define FAR_MARK (-128)		/* the line of an instruction is among the far ones */
#define NEAR_MAX 256		/* instructions between two of these, at most 128 */
#define COUNT_MAX (1u << 24)	/* of anything that a function has */
#define LOCALS_MAX 1024
#define BEFORE_MAX 512		/* instructions before a call that are looked through */
#define MOVES_MAX 4
#define CAPTURED_MAX 60		/* variables that a closure of 5.1 captures */

static u32 field(u32 instruction, struct lua_field f)
{
	return instruction >> f.first & ((1u << f.bits) - 1);
}

static u32 count_of(struct memory *m, u64 va)
{
	u32 count = memory_u32(m, va);

	return memory_err(m) || count > COUNT_MAX ? 0 : count;
}

bool lua_names_is_proto(const struct lua_layout *l, struct memory *m, u64 proto, u32 pc)
{
	return memory_u8(m, proto + OBJECT_TYPE) == l->proto_type && pc < count_of(m, proto + l->code_count);
}

static u32 instruction_at(const struct lua_layout *l, struct memory *m, u64 proto, u32 pc)
{
	return memory_u32(m, memory_u64(m, proto + l->code) + 4ull * pc);
}

static void read_string(struct memory *m, u64 va, char *ret_text, size_t bytes)
{
	ret_text[0] = 0;
	if (va && (memory_u8(m, va + OBJECT_TYPE) & TYPE_MASK) == TYPE_STRING)
		memory_text(m, va + STRING_TEXT, ret_text, bytes);
}

static void read_constant(const struct lua_layout *l, struct memory *m, u64 proto, u32 index,
			  char ret_name[LUA_NAME_MAX])
{
	u64 va = memory_u64(m, proto + l->constants) + (u64)VALUE_BYTES * index;

	if (index < count_of(m, proto + l->constant_count) && (memory_u8(m, va + VALUE_TAG) & TYPE_MASK) == TYPE_STRING)
		read_string(m, memory_u64(m, va), ret_name, LUA_NAME_MAX);
}

/* The variable that a register is at an instruction, if it is one: they come in the order of their scopes. */
static void read_local(const struct lua_layout *l, struct memory *m, u64 proto, u32 reg, u32 pc,
		       char ret_name[LUA_NAME_MAX])
{
	u32 count = count_of(m, proto + l->local_count);
	u64 va = memory_u64(m, proto + l->locals);

	for (u32 i = 0; i < count && i < LOCALS_MAX && !memory_err(m); i++, va += LOCAL_BYTES) {
		if (memory_u32(m, va + 8) > pc)
			return;
		if (pc >= memory_u32(m, va + 12) || reg--)
			continue;
		read_string(m, memory_u64(m, va), ret_name, LUA_NAME_MAX);
		return;
	}
}

static bool sets_register(const struct lua_codes *codes, u32 instruction, u32 reg)
{
	u32 op = field(instruction, codes->op), a = field(instruction, codes->a);

	if (op == codes->load_nil)
		return a <= reg && reg <= field(instruction, codes->b) + (codes->nil_is_up_to_b ? 0 : a);
	if (op == codes->call || op == codes->tail_call || op == codes->var_arg)
		return a <= reg;
	if (op == codes->for_call)
		return a + 2 <= reg;
	return a == reg && codes->sets[op >> 6 & 1] >> (op & 63) & 1;
}

/* Is an instruction that seems to set register 0 one of those that say what a closure captures, right behind it? */
static bool is_captured(const struct lua_layout *l, struct memory *m, u64 proto, u32 pc)
{
	const struct lua_codes *codes = &l->codes;

	for (u32 i = 0; i <= pc && i <= CAPTURED_MAX && codes->closure != 0xff && !memory_err(m); i++) {
		u32 instruction = instruction_at(l, m, proto, pc - i), op = field(instruction, codes->op);

		if (op == codes->closure)
			return i > 0;
		if ((op != codes->move && op != codes->get_upvalue) || field(instruction, codes->a))
			return false;
	}
	return false;
}

/* The last instruction before one that sets a register; less than 0 if there is none near. */
static int find_setter(const struct lua_layout *l, struct memory *m, u64 proto, u32 pc, u32 reg)
{
	for (u32 i = 1; i <= pc && i <= BEFORE_MAX && !memory_err(m); i++)
		if (sets_register(&l->codes, instruction_at(l, m, proto, pc - i), reg) &&
		    (reg || !is_captured(l, m, proto, pc - i)))
			return (int)(pc - i);
	return -1;
}

/* A field is called as a constant says; one that is in a register has no name. */
static void read_field(const struct lua_layout *l, struct memory *m, u64 proto, u32 instruction,
		       char ret_name[LUA_NAME_MAX])
{
	u32 c = field(instruction, l->codes.c), mark = 1u << (l->codes.c.bits - 1);

	if (!l->codes.marks_constants)
		read_constant(l, m, proto, c, ret_name);
	else if (c & mark)
		read_constant(l, m, proto, c & ~mark, ret_name);
}

static void read_upvalue(const struct lua_layout *l, struct memory *m, u64 proto, u32 index,
			 char ret_name[LUA_NAME_MAX])
{
	u64 va = memory_u64(m, proto + l->upvalues) + (u64)l->upvalue_bytes * index;

	if (index < count_of(m, proto + l->upvalue_count))
		read_string(m, memory_u64(m, va), ret_name, LUA_NAME_MAX);
}

/* What is in a register before an instruction. */
static void name_register(const struct lua_layout *l, struct memory *m, u64 proto, u32 pc, u32 reg,
			  char ret_name[LUA_NAME_MAX])
{
	const struct lua_codes *codes = &l->codes;

	for (u32 moves = 0; moves < MOVES_MAX; moves++) {
		u32 instruction, op;
		int setter;

		read_local(l, m, proto, reg, pc, ret_name);
		setter = ret_name[0] ? -1 : find_setter(l, m, proto, pc, reg);
		if (setter < 0)
			return;
		pc = (u32)setter;
		instruction = instruction_at(l, m, proto, pc);
		op = field(instruction, codes->op);
		if (op == codes->get_in_upvalue || op == codes->get_in_table || op == codes->get_field ||
		    op == codes->self)
			read_field(l, m, proto, instruction, ret_name);
		else if (op == codes->get_global)
			read_constant(l, m, proto, field(instruction, codes->bx), ret_name);
		else if (op == codes->get_upvalue)
			read_upvalue(l, m, proto, field(instruction, codes->b), ret_name);
		if (op != codes->move)
			return;
		reg = field(instruction, codes->b);
	}
}

void lua_names_called(const struct lua_layout *l, struct memory *m, u64 proto, u32 pc, char ret_name[LUA_NAME_MAX])
{
	u32 instruction, op;

	ret_name[0] = 0;
	if (!lua_names_is_proto(l, m, proto, pc))
		return;
	instruction = instruction_at(l, m, proto, pc);
	op = field(instruction, l->codes.op);
	if (op == l->codes.call || op == l->codes.tail_call ||
	    (op == l->codes.for_call && l->codes.names_locals_only))
		name_register(l, m, proto, pc, field(instruction, l->codes.a), ret_name);
	else if (!l->codes.names_locals_only)
		(void)snprintf(ret_name, LUA_NAME_MAX, "%s", op == l->codes.for_call ? "for iterator" : "metamethod");
}

u32 lua_names_first_line(const struct lua_layout *l, struct memory *m, u64 proto)
{
	return memory_u32(m, proto + l->first_line);
}

/* The line of an instruction that is among the far ones, which are in ascending order. */
static u32 far_line(const struct lua_layout *l, struct memory *m, u64 proto, u32 pc)
{
	u64 va = memory_u64(m, proto + l->far_lines);
	u32 lo = 0, hi = count_of(m, proto + l->first_line - 4);

	while (lo < hi && !memory_err(m)) {
		u32 mid = (lo + hi) / 2, at = memory_u32(m, va + (u64)FAR_BYTES * mid);

		if (at == pc)
			return memory_u32(m, va + (u64)FAR_BYTES * mid + 4);
		if (at < pc)
			lo = mid + 1;
		else
			hi = mid;
	}
	return 0;
}

/* 5.4 has the distance from the line of the instruction before, as a byte with a sign. */
static u32 line_by_steps(const struct lua_layout *l, struct memory *m, u64 proto, u32 pc)
{
	u64 va = memory_u64(m, proto + l->lines);
	s64 distance = 0, base;

	for (u32 i = 0; i <= pc && i < NEAR_MAX && !memory_err(m); i++) {
		s8 step = (s8)memory_u8(m, va + pc - i);

		if (step == FAR_MARK) {
			base = far_line(l, m, proto, pc - i);
			return base && base + distance > 0 ? (u32)(base + distance) : 0;
		}
		distance += step;
		if (i == pc) {
			base = lua_names_first_line(l, m, proto);
			return base + distance > 0 ? (u32)(base + distance) : 0;
		}
	}
	return 0;
}

u32 lua_names_line(const struct lua_layout *l, struct memory *m, u64 proto, u32 pc)
{
	if (pc >= count_of(m, proto + l->line_count))
		return 0;
	if (l->far_lines)
		return line_by_steps(l, m, proto, pc);
	return memory_u32(m, memory_u64(m, proto + l->lines) + 4ull * pc);
}

void lua_names_file(const struct lua_layout *l, struct memory *m, u64 proto, char *ret_file, size_t bytes)
{
	read_string(m, memory_u64(m, proto + l->source), ret_file, bytes);
	if (ret_file[0] == '@' || ret_file[0] == '=')
		memmove(ret_file, ret_file + 1, strlen(ret_file));
	else if (ret_file[0])
		(void)snprintf(ret_file, bytes, "[string]");
}
