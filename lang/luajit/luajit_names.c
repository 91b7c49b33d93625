// SPDX-License-Identifier: Apache-2.0
#include "lang/luajit/luajit_names.h"

#include <stdio.h>
#include <string.h>

#include "lang/luajit/luajit.h"
#include "lang/memory.h"

/* struct GCproto, struct GCstr: of 64-bit references */
#define PROTO_CONSTANTS 32
#define PROTO_CONSTANT_COUNT 48	/* of those that are objects, which are before the others */
#define PROTO_UPVALUE_COUNT 60	/* a byte */
#define PROTO_FILE 64
#define PROTO_FIRST_LINE 72
#define PROTO_LINE_COUNT 76
#define PROTO_LINES 80
#define PROTO_UPVALUES 88
#define PROTO_LOCALS 96
#define STRING_TEXT 24
#define COUNT_MAX (1u << 24)	/* of anything that a function has */
#define CODE_MAX 32768		/* instructions before one that are looked through for the first */
#define LOCALS_MAX 1024
#define BEFORE_MAX 512		/* instructions before a call that are looked through */
#define MOVES_MAX 4
#define TEXTS_MAX 16384		/* bytes of names that are passed over */
#define BUILT_IN 0xffffffffu	/* the first line of a function of LuaJIT's own that is written in Lua */

/* lj_bc.h: numbers of instructions, the same in all of 2.1; headers of functions have the highest. */
enum op {
	OP_ISLT = 0, OP_ISTC = 12, OP_ISFC = 13, OP_MOV = 18, OP_UNM = 20, OP_LEN = 21, OP_ADDVN = 22, OP_CAT = 38,
	OP_KSTR = 39, OP_KPRI = 43, OP_KNIL = 44, OP_UGET = 45, OP_FNEW = 51, OP_TDUP = 53, OP_GGET = 54, OP_GSET = 55,
	OP_TGETV = 56, OP_TGETS = 57, OP_TGETR = 59, OP_TSETV = 60, OP_TSETM = 63, OP_TSETR = 64, OP_CALLM = 65,
	OP_CALLT = 68, OP_ITERC = 69, OP_ITERN = 70, OP_ISNEXT = 72, OP_RETM = 73, OP_FORI = 77, OP_JITERL = 84,
	OP_FUNCF = 89,
};

static u32 op_of(u32 instruction)
{
	return instruction & 0xff;
}

static u32 a_of(u32 instruction)
{
	return instruction >> 8 & 0xff;
}

static u32 d_of(u32 instruction)
{
	return instruction >> 16;
}

static u32 c_of(u32 instruction)
{
	return instruction >> 16 & 0xff;
}

static u32 count_of(struct memory *m, u64 va)
{
	u32 count = memory_u32(m, va);

	return memory_err(m) || count > COUNT_MAX ? 0 : count;
}

static u64 code_of(u64 proto)
{
	return proto + LUAJIT_PROTO_BYTES;
}

static u32 instruction_at(struct memory *m, u64 proto, u32 index)
{
	return memory_u32(m, code_of(proto) + 4ull * index);
}

/* A header is the first instruction, and before it must be a prototype: later releases number headers higher. */
bool luajit_names_place(struct memory *m, u64 pc_va, struct luajit_place *ret_place)
{
	for (u32 i = 0; i < CODE_MAX && !memory_err(m); i++) {
		u64 va = pc_va - 4ull * i, proto = va - LUAJIT_PROTO_BYTES;

		if (op_of(memory_u32(m, va)) < OP_FUNCF ||
		    memory_u8(m, proto + LUAJIT_OBJECT_TYPE) != LUAJIT_TYPE_PROTO ||
		    i >= count_of(m, proto + LUAJIT_PROTO_COUNT))
			continue;
		*ret_place = (struct luajit_place){ proto, i };
		return !memory_err(m);
	}
	return false;
}

static void read_string(struct memory *m, u64 va, char *ret_text, size_t bytes)
{
	ret_text[0] = 0;
	if (va && memory_u8(m, va + LUAJIT_OBJECT_TYPE) == LUAJIT_TYPE_STRING)
		memory_text(m, va + STRING_TEXT, ret_text, bytes);
}

/* Those that are objects are before the address, in descending order. */
static void read_constant(struct memory *m, u64 proto, u32 index, char ret_name[LUAJIT_NAME_MAX])
{
	if (index < count_of(m, proto + PROTO_CONSTANT_COUNT))
		read_string(m, memory_u64(m, memory_u64(m, proto + PROTO_CONSTANTS) - 8ull * (index + 1)), ret_name,
			    LUAJIT_NAME_MAX);
}

/* Past a text that ends in NUL; counted, lest there is no end. */
static u64 skip_text(struct memory *m, u64 va, u32 *left)
{
	while (*left && !memory_err(m)) {
		(*left)--;
		if (!memory_u8(m, va++))
			break;
	}
	return va;
}

static u32 read_uleb(struct memory *m, u64 *va)
{
	u32 value = 0;

	for (u32 shift = 0; shift < 32 && !memory_err(m); shift += 7) {
		u8 byte = memory_u8(m, (*va)++);

		value |= (u32)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			break;
	}
	return value;
}

/* The variable that a slot is at an instruction, if it is one: they come in the order of their scopes. */
static void read_local(struct memory *m, const struct luajit_place *at, u32 slot, char ret_name[LUAJIT_NAME_MAX])
{
	static const char *const hidden[] = { "", "(for index)", "(for limit)", "(for step)", "(for generator)",
					      "(for state)", "(for control)" };
	u64 va = memory_u64(m, at->proto + PROTO_LOCALS);
	u32 from = 0, left = TEXTS_MAX;

	for (u32 i = 0; va && i < LOCALS_MAX && !memory_err(m); i++) {
		u64 name = va;
		u8 kind = memory_u8(m, va);
		u32 to;

		if (!kind)
			return;
		va = kind < sizeof(hidden) / sizeof(hidden[0]) ? va + 1 : skip_text(m, va, &left);
		from += read_uleb(m, &va);
		if (from > at->index)
			return;
		to = from + read_uleb(m, &va);
		if (at->index >= to || slot--)
			continue;
		if (kind < sizeof(hidden) / sizeof(hidden[0]))
			(void)snprintf(ret_name, LUAJIT_NAME_MAX, "%s", hidden[kind]);
		else
			memory_text(m, name, ret_name, LUAJIT_NAME_MAX);
		return;
	}
}

static void read_upvalue(struct memory *m, u64 proto, u32 index, char ret_name[LUAJIT_NAME_MAX])
{
	u64 va = memory_u64(m, proto + PROTO_UPVALUES);
	u32 left = TEXTS_MAX;

	if (!va || index >= memory_u8(m, proto + PROTO_UPVALUE_COUNT))
		return;
	for (u32 i = 0; i < index; i++)
		va = skip_text(m, va, &left);
	if (left)
		memory_text(m, va, ret_name, LUAJIT_NAME_MAX);
}

/* Sets all from register a on; KNIL up to d. */
static bool sets_from_a(u32 op)
{
	return op == OP_KNIL || op == OP_TSETM || (op >= OP_CALLM && op <= OP_RETM) ||
	       (op >= OP_FORI && op <= OP_JITERL);
}

static bool sets_a(u32 op)
{
	return op == OP_ISTC || op == OP_ISFC || (op >= OP_MOV && op <= OP_KPRI) || op == OP_UGET ||
	       (op >= OP_FNEW && op <= OP_GGET) || (op >= OP_TGETV && op <= OP_TGETR);
}

/* The last instruction before one that sets a slot; less than 0 if there is none near, or it has no name. */
static int find_setter(struct memory *m, const struct luajit_place *at, u32 slot)
{
	for (u32 i = 1; i < at->index && i <= BEFORE_MAX && !memory_err(m); i++) {
		u32 instruction = instruction_at(m, at->proto, at->index - i), op = op_of(instruction);

		if (sets_from_a(op) && slot >= a_of(instruction) && (op != OP_KNIL || slot <= d_of(instruction)))
			return -1;
		if (sets_a(op) && slot == a_of(instruction))
			return (int)(at->index - i);
	}
	return -1;
}

/* What is in a slot before an instruction. */
static void name_slot(struct memory *m, struct luajit_place at, u32 slot, char ret_name[LUAJIT_NAME_MAX])
{
	for (u32 moves = 0; moves < MOVES_MAX; moves++) {
		u32 instruction;
		int setter;

		read_local(m, &at, slot, ret_name);
		setter = ret_name[0] ? -1 : find_setter(m, &at, slot);
		if (setter < 0)
			return;
		at.index = (u32)setter;
		instruction = instruction_at(m, at.proto, at.index);
		switch (op_of(instruction)) {
		case OP_MOV:
			slot = d_of(instruction);
			continue;
		case OP_GGET:
			read_constant(m, at.proto, d_of(instruction), ret_name);
			return;
		case OP_TGETS:
			read_constant(m, at.proto, c_of(instruction), ret_name);
			return;
		case OP_UGET:
			read_upvalue(m, at.proto, d_of(instruction), ret_name);
			return;
		default:
			return;
		}
	}
}

/* The method that an instruction asks a metatable for. */
static const char *operator_of(u32 op)
{
	static const char *const arithmetic[] = { "__add", "__sub", "__mul", "__div", "__mod" };

	if (op < OP_ISTC)
		return op < 2 ? "__lt" : op < 4 ? "__le" : "__eq";
	if (op == OP_UNM)
		return "__unm";
	if (op == OP_LEN)
		return "__len";
	if (op >= OP_ADDVN && op < OP_CAT)
		return op == OP_CAT - 1 ? "__pow" : arithmetic[(op - OP_ADDVN) % 5];
	if (op == OP_CAT)
		return "__concat";
	if (op >= OP_FNEW && op <= OP_TDUP)
		return "__gc";
	if (op == OP_GGET || (op >= OP_TGETV && op <= OP_TGETR))
		return "__index";
	return op == OP_GSET || (op >= OP_TSETV && op <= OP_TSETR) ? "__newindex" : "";
}

void luajit_names_called(struct memory *m, u64 pc_va, char ret_name[LUAJIT_NAME_MAX])
{
	struct luajit_place at;
	u32 instruction, op, a;

	ret_name[0] = 0;
	if (!luajit_names_place(m, pc_va, &at))
		return;
	instruction = instruction_at(m, at.proto, at.index);
	op = op_of(instruction);
	a = a_of(instruction);
	if (op == OP_ITERC || op == OP_ITERN)
		name_slot(m, at, a - 3, ret_name);
	else if (op >= OP_CALLM && op <= OP_CALLT)
		name_slot(m, at, a, ret_name);
	else
		(void)snprintf(ret_name, LUAJIT_NAME_MAX, "%s", operator_of(op));
}

bool luajit_names_is_chunk(struct memory *m, u64 proto)
{
	return !memory_u32(m, proto + PROTO_FIRST_LINE) && memory_u32(m, proto + PROTO_LINE_COUNT);
}

u32 luajit_names_first_line(struct memory *m, u64 proto)
{
	u32 line = memory_u32(m, proto + PROTO_FIRST_LINE);

	return line == BUILT_IN ? 0 : line;
}

/* Distances from the first line, in as few bytes as all of them need. */
u32 luajit_names_line(struct memory *m, const struct luajit_place *place)
{
	u32 first = luajit_names_first_line(m, place->proto), lines = memory_u32(m, place->proto + PROTO_LINE_COUNT);
	u64 va = memory_u64(m, place->proto + PROTO_LINES);

	if (!va || !place->index)
		return va ? first : 0;
	if (lines < 256)
		return first + memory_u8(m, va + place->index - 1);
	if (lines < 65536)
		return first + memory_u16(m, va + 2ull * (place->index - 1));
	return first + memory_u32(m, va + 4ull * (place->index - 1));
}

void luajit_names_file(struct memory *m, u64 proto, char *ret_file, size_t bytes)
{
	read_string(m, memory_u64(m, proto + PROTO_FILE), ret_file, bytes);
	if (ret_file[0] == '@' || ret_file[0] == '=')
		memmove(ret_file, ret_file + 1, strlen(ret_file));
	else if (memory_u32(m, proto + PROTO_FIRST_LINE) == BUILT_IN)
		(void)snprintf(ret_file, bytes, "[builtin]");
	else if (ret_file[0])
		(void)snprintf(ret_file, bytes, "[string]");
}
