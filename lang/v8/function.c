// SPDX-License-Identifier: Apache-2.0
#include "lang/v8/function.h"

#include <errno.h>

#include "lang/lang.h"
#include "lang/v8/heap.h"
#include "lang/v8/positions.h"
#include "lang/v8/script.h"
#include "lang/v8/sources.h"

#define SCOPE_LOCALS_MAX 65536
#define SCOPE_INLINED_LOCALS 75	/* a scope with so many names has them in a table of its own */
#define SCOPE_TAIL 8		/* words behind its variables that are looked at */
#define SCOPE_POSITION 3	/* where the start is, since V8 12.8: in front of them */

u32 function_literal_id(struct heap *h, u64 shared)
{
	return heap_field32(h, shared, h->layout.at[V8_SHARED_FLAGS] + sizeof(u32));
}

/* What a ScopeInfo tells of its function. */
struct scope {
	u64 name, inferred;	/* strings, or 0 */
	s32 start;		/* in the script, or FUNCTION_NO_POSITION */
};

static u64 scope_word(struct heap *h, u64 scope, u64 index)
{
	return heap_field(h, scope, 8 * (index + 1));
}

/*
 * Behind the variables: [the class's variable,] [name, its place,] [the name that it goes by otherwise,] start, end.
 * Names are strings, or undefined; which of them are there, flags say that every version has at other bits.
 */
static struct scope read_scope(struct heap *h, u64 object)
{
	struct scope scope = { .start = FUNCTION_NO_POSITION };
	u64 locals = scope_word(h, object, h->layout.at[V8_SCOPE_LOCALS]), word, last = 1;	/* a pointer */
	u64 first = h->layout.at[V8_SCOPE_VARS];
	u32 count = (u32)(locals >> 32);

	if (!heap_is_small(locals) || count > SCOPE_LOCALS_MAX) {
		heap_stale(h);
		return scope;
	}
	if (first > SCOPE_POSITION)
		scope.start = heap_small(scope_word(h, object, SCOPE_POSITION));
	first += count < SCOPE_INLINED_LOCALS ? 2 * (u64)count : 1 + (u64)count;
	for (u32 i = 0; i < SCOPE_TAIL && !h->memory.err; i++, last = word) {
		word = scope_word(h, object, first + i);
		if (heap_is_small(word)) {
			if (heap_is_small(last) && heap_small(last) >= 0 && heap_small(word) > heap_small(last)) {
				scope.start = heap_small(last);
				break;
			}
		} else if (heap_is_string(h, word)) {
			*(scope.name ? &scope.inferred : &scope.name) = word;
			i += !scope.inferred;		/* the name's place */
		} else if (!heap_is_pointer(word) || heap_type(h, word) == h->layout.at[V8_TYPE_SCOPE]) {
			break;		/* the scope around it, and the end */
		}
	}
	return scope;
}

static void scope_text(struct heap *h, const struct scope *scope, char *text, size_t bytes)
{
	text[0] = '\0';
	if (scope->name)
		heap_text(h, scope->name, text, bytes);
	if (!text[0] && scope->inferred)
		heap_text(h, scope->inferred, text, bytes);
}

/* The name, and where the function starts if that is known. */
static s32 name_of(struct heap *h, u64 shared, char *text, size_t bytes)
{
	u64 object = heap_field(h, shared, h->layout.at[V8_SHARED_NAME]);
	struct scope scope;

	text[0] = '\0';
	if (heap_is_small(object))
		return FUNCTION_NO_POSITION;	/* it has none */
	if (heap_is_string(h, object)) {
		heap_text(h, object, text, bytes);
		return FUNCTION_NO_POSITION;
	}
	heap_expect(h, object, V8_TYPE_SCOPE);
	scope = read_scope(h, object);
	scope_text(h, &scope, text, bytes);
	return scope.start;
}

/* The Script, by way of what a debugger has put in its place; 0 if it has none, as built-in functions do. */
static u64 script_of(struct heap *h, u64 shared)
{
	u64 object = heap_field(h, shared, h->layout.at[V8_SHARED_SCRIPT]);

	if (heap_type(h, object) == h->layout.at[V8_TYPE_SCRIPT])
		return object;
	return 0;
}

int function_name(struct heap *h, u64 shared, s32 position, struct lang_names *names)
{
	char name[LANG_TEXT_MAX], file[LANG_TEXT_MAX] = "";
	struct script_place place;
	u64 script;
	u32 line = 0;
	s32 start;

	heap_expect(h, shared, V8_TYPE_SHARED);
	start = name_of(h, shared, name, sizeof(name));
	if (position < 0)
		position = start;
	script = script_of(h, shared);
	if (script)
		script_path(h, script, file);
	if (h->memory.err)
		return h->memory.err;
	if (script && position >= 0) {
		place = script_place(h, script, position);
		line = place.line + 1 + script_first_line(h, script);
		if (!h->memory.err)
			sources_origin(h, script, place, start, name, file, &line);
	}
	/* A line that cannot be had does not take the name away. */
	lang_names_line(names, name[0] ? name : "(anonymous)", file, h->memory.err ? 0 : line);
	return 0;
}

u64 function_bytecode(struct heap *h, u64 shared)
{
	u64 data = heap_field(h, shared, h->layout.at[V8_SHARED_DATA]);

	if (!heap_is_pointer(data))
		return 0;
	/* Baseline code, which has it in turn; before V8 9.5 both were in an object of their own. */
	if (heap_type(h, data) == h->layout.at[V8_TYPE_CODE])
		data = heap_field(h, data, h->layout.at[V8_CODE_DEOPT]);
	else if (heap_type(h, data) == h->layout.at[V8_TYPE_BASELINE_DATA])
		data = heap_field(h, data, h->layout.at[V8_BASELINE_DATA]);
	return heap_type(h, data) == h->layout.at[V8_TYPE_BYTECODE] ? data : 0;
}

s32 function_bytecode_position(struct heap *h, u64 array, u64 offset)
{
	u64 header = h->layout.at[V8_BYTECODE_DATA] - 1;
	struct positions positions;
	struct heap_table bytes;
	u64 table;

	if (!array || offset < header || offset - header >= heap_length(h, array))
		return FUNCTION_NO_POSITION;
	table = heap_field(h, array, h->layout.at[V8_BYTECODE_POSITIONS]);
	/* Made only when it is needed: until then it is something else. */
	if (!heap_is_bytes(h, table))
		return FUNCTION_NO_POSITION;
	heap_table(h, table, &bytes);
	positions = (struct positions){ bytes.at, bytes.bytes, h->layout.position_flags, heap_length(h, array) };
	return h->memory.err ? FUNCTION_NO_POSITION :
			       position_offset(positions_find(&positions, (u32)(offset - header)));
}
