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
#define TABLE_MAX 65536		/* bytes of a table */
#define INLINED_MAX 32		/* functions inlined into each other */

/* A table of bytes, read whole. */
struct table {
	u8 at[TABLE_MAX];
	u32 bytes;
};

static void read_table(struct heap *h, u64 array, struct table *ret_table)
{
	u32 bytes;

	ret_table->bytes = 0;
	heap_expect(h, array, V8_TYPE_BYTES);
	bytes = heap_length(h, array);
	if (bytes > sizeof(ret_table->at))
		bytes = sizeof(ret_table->at);
	memory_read(&h->memory, array - 1 + HEAP_ELEMENTS, ret_table->at, bytes);
	if (!h->memory.err)
		ret_table->bytes = bytes;
}

/* Does a piece of code start here that reaches to va? Its Code, or 0. */
static u64 code_at(struct heap *h, u64 start, u64 va)
{
	u64 map = memory_u64(&h->memory, start), code, instructions = start + h->layout.at[V8_STREAM_START];

	if (!heap_is_pointer(map) || map >> 47 || (h->stream_map && map != h->stream_map))
		return 0;
	code = memory_u64(&h->memory, start + 8);
	if (!heap_is_pointer(code) || code >> 47 || h->memory.err)
		return 0;
	if (heap_type(h, start + 1) == h->layout.at[V8_TYPE_STREAM] &&
	    heap_type(h, code) == h->layout.at[V8_TYPE_CODE] &&
	    heap_field(h, code, h->layout.code_start) == instructions &&
	    va - instructions < heap_field32(h, code, h->layout.code_bytes) && !h->memory.err) {
		h->stream_map = map;
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

static struct inlined inlined_at(const struct table *table, s32 index)
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
	u64 literals = heap_element(h, deopt, (u32)h->layout.at[V8_DEOPT_LITERALS]);
	struct table table;
	int r;

	heap_expect(h, literals, V8_TYPE_WEAK_ARRAY);
	if (position_inlining(position) >= 0)
		read_table(h, heap_element(h, deopt, (u32)h->layout.at[V8_DEOPT_POSITIONS]), &table);
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

static int name_optimised(struct heap *h, u64 code, u64 shared, u32 offset, struct lang_names *names)
{
	u64 deopt = heap_field(h, code, h->layout.at[V8_CODE_DEOPT]), owner;
	struct table table;

	heap_expect(h, deopt, V8_TYPE_ARRAY);
	owner = heap_element(h, deopt, (u32)h->layout.at[V8_DEOPT_SHARED]);
	read_table(h, heap_field(h, code, h->layout.at[V8_CODE_POSITIONS]), &table);
	if (h->memory.err)
		return h->memory.err;
	if (shared && owner != shared)
		return -ESTALE;
	return name_inlined(h, deopt, owner, positions_find(table.at, table.bytes, offset), names);
}

/*
 * Baseline code has what it was made from, and a number for each bytecode of it: the bytes of its code. Which bytecodes
 * there are only their own lengths tell, which every version has others of: the function is named without a line.
 */
int code_name(struct heap *h, u64 shared, u64 va, struct lang_names *names)
{
	u64 code = find_code(h, va), start;
	u32 kind;
	int r;

	if (code) {
		kind = heap_field32(h, code, h->layout.code_flags) >> h->layout.at[V8_CODE_KIND_SHIFT] &
		       (u32)h->layout.at[V8_CODE_KIND_MASK];
		start = heap_field(h, code, h->layout.code_start);
		if (kind > h->layout.at[V8_CODE_KIND_BASELINE]) {
			r = name_optimised(h, code, shared, (u32)(va - start), names);
			if (!r)
				return 0;
			h->memory.err = 0;
		}
	}
	return shared ? function_name(h, shared, FUNCTION_NO_POSITION, names) : -ENODATA;
}
