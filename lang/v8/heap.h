/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads V8's objects, each only if it is of the type that it should be: a collector moves and frees them meanwhile. The
 * first that is not sets the memory's error, -ESTALE; reads after it give nothing.
 */
#ifndef LANG_V8_HEAP_H
#define LANG_V8_HEAP_H

#include <stdbool.h>
#include <stddef.h>

#include "lang/memory.h"
#include "lang/v8/baseline.h"
#include "lang/v8/layout.h"

struct heap {
	struct layout layout;
	struct baseline_sizes sizes;
	struct memory memory;
	u64 stream_map;		/* the Map of pieces of generated code, once one was seen; 0 */
	u64 code_start;		/* of the instructions of the piece that was found last */
};

/* Objects are tagged pointers, as they are in the fields of others. */
static inline bool heap_is_pointer(u64 word)
{
	return (word & 3) == 1;
}

static inline bool heap_is_small(u64 word)
{
	return !(u32)word;
}

static inline s32 heap_small(u64 word)
{
	return (s32)(word >> 32);
}

/* The instance type of an object; 0 sets the error. */
u32 heap_type(struct heap *heap, u64 object);

/* Sets the error if it is of another type. */
void heap_expect(struct heap *heap, u64 object, enum v8_number type);

/* ... if it is of none of these; types that the version does not have are none. */
void heap_expect_any(struct heap *heap, u64 object, const u8 *types, u32 count);

/* Is it an array of bytes, of whatever kind? */
bool heap_is_bytes(struct heap *heap, u64 object);

u64 heap_field(struct heap *heap, u64 object, u64 offset);
u32 heap_field32(struct heap *heap, u64 object, u64 offset);

/* An array's elements: their count, checked to be one; and the bytes of a ByteArray. */
u32 heap_length(struct heap *heap, u64 array);
u64 heap_element(struct heap *heap, u64 array, u32 index);
#define HEAP_ELEMENTS 16	/* offset of the first, of every kind of array */

/* A table of bytes, read whole or cut. */
#define HEAP_TABLE_MAX 65536
struct heap_table {
	u8 at[HEAP_TABLE_MAX];
	u32 bytes;
};

/* The bytes of an array from an offset on; those of a ByteArray, checked to be one. */
void heap_bytes(struct heap *heap, u64 array, u64 offset, struct heap_table *ret_table);
void heap_table(struct heap *heap, u64 array, struct heap_table *ret_table);

bool heap_is_string(struct heap *heap, u64 object);

/* A string as UTF-8, cut to fit, to at least 8 bytes; "" if it cannot be read. */
void heap_text(struct heap *heap, u64 string, char *to, size_t to_bytes);

/*
 * How many lines end in the first `end` characters of a string, and where the line after them starts; past a bound it
 * sets the error.
 */
u32 heap_count_lines(struct heap *heap, u64 string, u32 end, u32 *ret_start);

/* Some characters of a string, as they are in UTF-16: how many. */
u32 heap_units(struct heap *heap, u64 string, u32 start, u32 end, u16 *to);

void heap_stale(struct heap *heap);

#endif
