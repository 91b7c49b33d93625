// SPDX-License-Identifier: Apache-2.0
#include "lang/v8/heap.h"

#include <errno.h>

#include "base/utf8.h"

#define STRING_HOPS 32		/* strings that lead to others */
#define STRING_MAX (8u << 20)	/* characters of a source that are looked through */
#define LENGTH_MAX (1u << 27)	/* elements */
#define CHUNK 512

void heap_stale(struct heap *h)
{
	if (!h->memory.err)
		h->memory.err = -ESTALE;
}

u64 heap_field(struct heap *h, u64 object, u64 offset)
{
	if (!heap_is_pointer(object)) {
		heap_stale(h);
		return 0;
	}
	return memory_u64(&h->memory, object - 1 + offset);
}

u32 heap_field32(struct heap *h, u64 object, u64 offset)
{
	if (!heap_is_pointer(object)) {
		heap_stale(h);
		return 0;
	}
	return memory_u32(&h->memory, object - 1 + offset);
}

u32 heap_type(struct heap *h, u64 object)
{
	u64 map = heap_field(h, object, 0);

	return heap_field32(h, map, h->layout.at[V8_MAP_TYPE]) & 0xffff;
}

void heap_expect(struct heap *h, u64 object, enum v8_number type)
{
	if (heap_type(h, object) != h->layout.at[type])
		heap_stale(h);
}

static bool is_any(struct heap *h, u64 object, const u8 *types, u32 count)
{
	u32 type = heap_type(h, object);
	bool found = false;

	for (u32 i = 0; i < count; i++)
		found |= h->layout.at[types[i]] == type;
	return found && !h->memory.err;
}

void heap_expect_any(struct heap *h, u64 object, const u8 *types, u32 count)
{
	if (!is_any(h, object, types, count))
		heap_stale(h);
}

bool heap_is_bytes(struct heap *h, u64 object)
{
	static const u8 types[] = { V8_TYPE_BYTES, V8_TYPE_TRUSTED_BYTES };

	return heap_is_pointer(object) && is_any(h, object, types, sizeof(types));
}

u32 heap_length(struct heap *h, u64 array)
{
	u64 word = heap_field(h, array, 8);

	if (!heap_is_small(word) || word >> 32 > LENGTH_MAX) {
		heap_stale(h);
		return 0;
	}
	return (u32)(word >> 32);
}

u64 heap_element(struct heap *h, u64 array, u32 index)
{
	if (index >= heap_length(h, array)) {
		heap_stale(h);
		return 0;
	}
	return heap_field(h, array, HEAP_ELEMENTS + 8 * (u64)index);
}

void heap_bytes(struct heap *h, u64 array, u64 offset, struct heap_table *ret_table)
{
	u32 bytes = heap_length(h, array);

	if (bytes > sizeof(ret_table->at))
		bytes = sizeof(ret_table->at);
	memory_read(&h->memory, array - 1 + offset, ret_table->at, bytes);
	ret_table->bytes = h->memory.err ? 0 : bytes;
}

void heap_table(struct heap *h, u64 array, struct heap_table *ret_table)
{
	ret_table->bytes = 0;
	if (heap_is_bytes(h, array))
		heap_bytes(h, array, HEAP_ELEMENTS, ret_table);
	else
		heap_stale(h);
}

bool heap_is_string(struct heap *h, u64 object)
{
	return heap_is_pointer(object) && heap_type(h, object) < h->layout.at[V8_FIRST_NONSTRING] && !h->memory.err;
}

/* A part of a string whose characters lie in a row. */
struct flat {
	u64 va;
	u32 count;
	bool is_wide;		/* two bytes each */
};

/* What is still to be read of a string: parts of it, in order. */
struct parts {
	struct heap *heap;
	u64 string[STRING_HOPS];
	u32 start[STRING_HOPS], end[STRING_HOPS];	/* of its characters */
	u32 count;
	u32 hops;
};

static void push_part(struct parts *p, u64 string, u32 start, u32 end)
{
	if (p->count == STRING_HOPS) {
		heap_stale(p->heap);
		return;
	}
	p->string[p->count] = string;
	p->start[p->count] = start;
	p->end[p->count] = end;
	p->count++;
}

static void push_cons(struct parts *p, u64 string, u32 start, u32 end)
{
	const u64 *at = p->heap->layout.at;
	u64 first = heap_field(p->heap, string, at[V8_CONS_FIRST]);
	u32 cut = heap_field32(p->heap, first, at[V8_STRING_LENGTH]);

	if (end > cut)
		push_part(p, heap_field(p->heap, string, at[V8_CONS_SECOND]), start > cut ? start - cut : 0, end - cut);
	if (start < cut)
		push_part(p, first, start, end < cut ? end : cut);
}

/* The characters of one that has them itself. */
static struct flat flat_of(struct heap *h, u64 string, u32 type, u32 start, u32 end)
{
	const u64 *at = h->layout.at;
	bool is_wide = (type & at[V8_STRING_ENCODING]) != at[V8_ONE_BYTE_TAG];
	struct flat flat = { .count = end - start, .is_wide = is_wide };

	if ((type & at[V8_STRING_REPRESENTATION]) == at[V8_EXTERNAL_TAG])
		flat.va = heap_field(h, string, at[V8_EXTERNAL_RESOURCE] + 8);	/* it keeps where the characters are */
	else
		flat.va = string - 1 + at[is_wide ? V8_TWO_BYTE_CHARS : V8_ONE_BYTE_CHARS];
	flat.va += (u64)start << is_wide;
	return flat;
}

/* Takes the next piece; false at the end, and on errors. */
static bool next_flat(struct parts *p, struct flat *ret_flat)
{
	struct heap *h = p->heap;
	const u64 *at = h->layout.at;

	while (p->count && !h->memory.err) {
		u64 string = p->string[--p->count];
		u32 start = p->start[p->count], end = p->end[p->count], type = heap_type(h, string);
		u64 kind = type & at[V8_STRING_REPRESENTATION];

		if (++p->hops > 16 * STRING_HOPS || type >= at[V8_FIRST_NONSTRING] || start > end ||
		    end > heap_field32(h, string, at[V8_STRING_LENGTH])) {
			heap_stale(h);
			return false;
		}
		if (kind == at[V8_CONS_TAG]) {
			push_cons(p, string, start, end);
		} else if (kind == at[V8_SLICED_TAG]) {
			u32 offset = (u32)heap_small(heap_field(h, string, at[V8_SLICED_OFFSET]));

			if (offset > LENGTH_MAX * 8u)
				heap_stale(h);
			push_part(p, heap_field(h, string, at[V8_SLICED_PARENT]), start + offset, end + offset);
		} else if (kind == at[V8_THIN_TAG]) {
			push_part(p, heap_field(h, string, at[V8_THIN_ACTUAL]), start, end);
		} else {
			*ret_flat = flat_of(h, string, type, start, end);
			return !h->memory.err;
		}
	}
	return false;
}

static u32 char_at(const u8 *bytes, u32 i, bool is_wide)
{
	return is_wide ? bytes[2 * i] | (u32)bytes[2 * i + 1] << 8 : bytes[i];
}

/* A string while it is read. */
struct reading {
	struct parts parts;
	struct flat flat;		/* what is left of a piece */
	u8 bytes[2 * CHUNK];
};

static void read_begin(struct reading *r, struct heap *h, u64 string, u32 start, u32 end)
{
	r->parts = (struct parts){ .heap = h };
	r->flat.count = 0;
	push_part(&r->parts, string, start, end);
}

/* The next characters: how many; 0 at the end, and on errors. */
static u32 read_next(struct reading *r)
{
	struct heap *h = r->parts.heap;
	u32 n;

	while (!r->flat.count)
		if (!next_flat(&r->parts, &r->flat))
			return 0;
	n = r->flat.count < CHUNK ? r->flat.count : CHUNK;
	memory_read(&h->memory, r->flat.va, r->bytes, (size_t)n << r->flat.is_wide);
	r->flat.va += (u64)n << r->flat.is_wide;
	r->flat.count -= n;
	return h->memory.err ? 0 : n;
}

static u32 read_char(const struct reading *r, u32 i)
{
	return char_at(r->bytes, i, r->flat.is_wide);
}

/* Characters of UTF-16 as they come: the first of a pair waits for the second. */
struct writer {
	char *to;
	size_t len, max;	/* a character of four bytes and the end still fit */
	u32 first;		/* of a pair, or 0 */
};

static void write_unit(struct writer *w, u32 c)
{
	u32 first = w->first;

	w->first = c >= 0xd800 && c < 0xdc00 ? c : 0;
	if (w->first || w->len > w->max)
		return;
	if (c >= 0xdc00 && c < 0xe000)
		c = first ? 0x10000 + ((first - 0xd800) << 10) + (c - 0xdc00) : 0xfffd;
	w->len += utf8_put(w->to + w->len, c);
}

void heap_text(struct heap *h, u64 string, char *to, size_t to_bytes)
{
	struct writer w = { .to = to, .max = to_bytes - 5 };
	struct reading r;

	read_begin(&r, h, string, 0, heap_field32(h, string, h->layout.at[V8_STRING_LENGTH]));
	for (u32 n; w.len <= w.max && (n = read_next(&r));)
		for (u32 i = 0; i < n; i++)
			write_unit(&w, read_char(&r, i));
	to[h->memory.err ? 0 : w.len] = '\0';
}

u32 heap_count_lines(struct heap *h, u64 string, u32 end, u32 *ret_start)
{
	u32 lines = 0, last = 0, at = 0;
	struct reading r;

	*ret_start = 0;
	if (end > STRING_MAX)
		heap_stale(h);
	read_begin(&r, h, string, 0, end);
	for (u32 n; (n = read_next(&r));) {
		for (u32 i = 0; i < n; i++) {
			u32 c = read_char(&r, i);

			at++;
			if (c == '\n' || c == '\r' || c == 0x2028 || c == 0x2029) {
				lines += c != '\n' || last != '\r';
				*ret_start = at;
			}
			last = c;
		}
	}
	return lines;
}

u32 heap_units(struct heap *h, u64 string, u32 start, u32 end, u16 *to)
{
	struct reading r;
	u32 count = 0;

	read_begin(&r, h, string, start, end);
	for (u32 n; (n = read_next(&r));)
		for (u32 i = 0; i < n && count < end - start; i++)
			to[count++] = (u16)read_char(&r, i);
	return h->memory.err ? 0 : count;
}
