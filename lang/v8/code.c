// SPDX-License-Identifier: Apache-2.0
#include "lang/v8/code.h"

#include <errno.h>
#include <string.h>

#include "lang/lang.h"
#include "lang/v8/function.h"
#include "lang/v8/heap.h"
#include "lang/v8/positions.h"

#define CODE_MAX (256u << 10)	/* bytes of a piece that are looked back through */
#define CODE_ALIGN 16
#define INLINED_MAX 32		/* functions inlined into each other */

/* Does a piece of code start here that reaches to va? Its Code, or 0. */
static u64 code_at(struct heap *h, u64 start, u64 va)
{
	const u64 *at = h->layout.at;
	bool is_inside = at[V8_CODE_INSIDE] != V8_MISSING;
	u64 map = memory_u64(&h->memory, start), code = is_inside ? start + 1 : memory_u64(&h->memory, start + 8);
	u64 instructions = start + at[is_inside ? V8_CODE_INSIDE : V8_STREAM_START];

	if (!heap_is_pointer(map) || map >> 48 || (h->stream_map && map != h->stream_map) ||
	    !heap_is_pointer(code) || code >> 48 || h->memory.err)
		return 0;
	if (heap_type(h, start + 1) == at[is_inside ? V8_TYPE_CODE : V8_TYPE_STREAM] &&
	    heap_type(h, code) == at[V8_TYPE_CODE] &&
	    (is_inside || heap_field(h, code, at[V8_CODE_START]) == instructions) &&
	    va - instructions < heap_field32(h, code, at[V8_CODE_BYTES]) && !h->memory.err) {
		h->stream_map = map;
		h->code_start = instructions;
		return code;
	}
	h->memory.err = 0;	/* they were no pointers */
	return 0;
}

/* Nothing leads from an address to its piece of code: its head is looked for before it. */
static u64 find_code(struct heap *h, u64 va)
{
	u64 start = va & ~(u64)(CODE_ALIGN - 1), code;

	for (u32 back = 0; back < CODE_MAX && !h->memory.err; back += CODE_ALIGN) {
		code = code_at(h, start - back, va);
		if (code)
			return code;
	}
	h->memory.err = 0;
	return 0;
}

/* What was inlined where: 16 bytes for each, its own position in what it was inlined into, and its function. */
struct inlined {
	u64 position;
	s32 function;
};

static struct inlined inlined_at(const struct heap_table *table, s32 index)
{
	struct inlined inlined = { .function = -1 };
	const u32 bytes = 16;

	if (index >= 0 && (u32)index < table->bytes / bytes) {
		const u8 *at = table->at + (u32)index * bytes;

		memcpy(&inlined.position, at, sizeof(inlined.position));
		memcpy(&inlined.function, at + 8, sizeof(inlined.function));
	}
	return inlined;
}

/* Of the literals; references there are weak. */
static u64 literal(struct heap *h, u64 literals, s32 index)
{
	u64 word = index < 0 ? 0 : heap_element(h, literals, (u32)index);

	return (word & 3) == 3 ? word & ~2ull : word;
}

static int name_inlined(struct heap *h, u64 deopt, u64 shared, u64 position, struct lang_names *names)
{
	static const u8 types[] = { V8_TYPE_WEAK_ARRAY, V8_TYPE_TRUSTED_WEAK_ARRAY, V8_TYPE_ARRAY };
	u64 literals = heap_element(h, deopt, (u32)h->layout.at[V8_DEOPT_LITERALS]);
	struct heap_table table;
	int r;

	heap_expect_any(h, literals, types, sizeof(types));
	if (position_inlining(position) >= 0)
		heap_table(h, heap_element(h, deopt, (u32)h->layout.at[V8_DEOPT_POSITIONS]), &table);
	for (u32 i = 0; i < INLINED_MAX && position_inlining(position) >= 0; i++) {
		struct inlined inlined = inlined_at(&table, position_inlining(position));
		u64 function = literal(h, literals, inlined.function);

		if (h->memory.err)
			return h->memory.err;
		if (function) {
			r = function_name(h, function, position_offset(position), names);
			if (r < 0)
				return r;
		}
		position = inlined.position;
	}
	return function_name(h, shared, position_offset(position), names);
}

/* The SharedFunctionInfo that code was made of; later versions wrap it. */
static u64 owner_of(struct heap *h, u64 deopt)
{
	u64 wrapper;

	if (h->layout.at[V8_DEOPT_SHARED] != V8_MISSING)
		return heap_element(h, deopt, (u32)h->layout.at[V8_DEOPT_SHARED]);
	wrapper = heap_element(h, deopt, (u32)h->layout.at[V8_DEOPT_WRAPPED]);
	return heap_field(h, wrapper, 8);
}

static int name_optimised(struct heap *h, u64 code, u64 shared, u32 offset, struct lang_names *names)
{
	u64 deopt = heap_field(h, code, h->layout.at[V8_CODE_DEOPT]), owner;
	static const u8 types[] = { V8_TYPE_ARRAY, V8_TYPE_TRUSTED_ARRAY, V8_TYPE_PROTECTED_ARRAY };
	struct positions positions;
	struct heap_table table;

	heap_expect_any(h, deopt, types, sizeof(types));
	owner = owner_of(h, deopt);
	heap_table(h, heap_field(h, code, h->layout.at[V8_CODE_POSITIONS]), &table);
	if (h->memory.err)
		return h->memory.err;
	if (shared && owner != shared)
		return -ESTALE;
	positions = (struct positions){ table.at, table.bytes, h->layout.position_flags,
					heap_field32(h, code, h->layout.at[V8_CODE_BYTES]) };
	return name_inlined(h, deopt, owner, positions_find(&positions, offset), names);
}

static int name_baseline(struct heap *h, u64 code, u64 shared, u32 offset, struct lang_names *names)
{
	u64 array = function_bytecode(h, shared);
	struct heap_table bytecode, table;
	s32 position;
	s64 at;

	if (!array)
		return -ENODATA;
	heap_bytes(h, array, h->layout.at[V8_BYTECODE_DATA], &bytecode);
	heap_table(h, heap_field(h, code, h->layout.at[V8_CODE_POSITIONS]), &table);
	at = baseline_bytecode(&h->sizes, bytecode.at, bytecode.bytes, table.at, table.bytes, offset);
	if (h->memory.err || at < 0)
		return h->memory.err ? h->memory.err : -ENODATA;
	position = function_bytecode_position(h, array, h->layout.at[V8_BYTECODE_DATA] - 1 + (u64)at);
	return function_name(h, shared, position, names);
}

int code_name(struct heap *h, u64 shared, u64 va, struct lang_names *names)
{
	u64 code = find_code(h, va), baseline = h->layout.at[V8_CODE_KIND_BASELINE];
	u32 kind, offset = (u32)(va - h->code_start);
	int r = -ENODATA;

	if (code) {
		kind = heap_field32(h, code, h->layout.at[V8_CODE_FLAGS]) >> h->layout.at[V8_CODE_KIND_SHIFT] &
		       (u32)h->layout.at[V8_CODE_KIND_MASK];
		if (kind > baseline)
			r = name_optimised(h, code, shared, offset, names);
		else if (kind == baseline && shared)
			r = name_baseline(h, code, shared, offset, names);
	}
	if (!r || !shared)
		return r;
	/* Not where in it, but the function is known. */
	h->memory.err = 0;
	return function_name(h, shared, FUNCTION_NO_POSITION, names);
}
