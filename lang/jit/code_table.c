// SPDX-License-Identifier: Apache-2.0
#include "lang/jit/code_table.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define LOOK_BACK 16	/* pieces that begin before the one in question and may cover it, too */
#define TAIL_MAX 1024	/* pieces that are looked at one by one: sorting all for each new one takes too long */

void code_table_done(struct code_table *t)
{
	free(t->pieces);
	buf_done(&t->text);
	*t = (struct code_table){ .dropped = t->dropped, .generation = t->generation };
}

void code_table_clear(struct code_table *t)
{
	code_table_done(t);
	t->generation++;
}

static u32 add_text(struct code_table *t, const char *text, size_t len)
{
	size_t at;

	if (!t->text.max) {
		buf_init(&t->text, CODE_TEXT_MAX);
		buf_add(&t->text, "", 1);
	}
	if (!text || !len)
		return 0;
	if (len > CODE_NAME_MAX)
		len = CODE_NAME_MAX;
	at = t->text.len;
	buf_add(&t->text, text, len);
	buf_add(&t->text, "", 1);
	return buf_err(&t->text) ? 0 : (u32)at;
}

static void add_piece(struct code_table *t, const struct code_piece *piece)
{
	if (piece->end_va <= piece->start_va || !piece->name || t->count == CODE_PIECES_MAX ||
	    array_reserve(&t->pieces, &t->cap, t->count + 1, sizeof(*t->pieces)) < 0) {
		t->dropped++;
		return;
	}
	t->pieces[t->count++] = *piece;
	t->generation++;
}

void code_table_add(struct code_table *t, u64 start_va, u64 bytes, const char *name, size_t name_len,
		    const char *file, size_t file_len, u32 line)
{
	struct code_piece piece = { .start_va = start_va, .end_va = start_va + bytes, .order = t->count, .line = line };

	piece.name = add_text(t, name, name_len);
	piece.file = add_text(t, file, file_len);
	add_piece(t, &piece);
}

void code_table_move(struct code_table *t, u64 from_va, u64 to_va, u64 bytes)
{
	const struct code_piece *from = code_table_find(t, from_va);

	if (from)
		add_piece(t, &(struct code_piece){ .start_va = to_va, .end_va = to_va + bytes, .order = t->count,
						   .name = from->name, .file = from->file, .line = from->line });
}

static int compare_pieces(const void *a, const void *b)
{
	const struct code_piece *x = a, *y = b;

	if (x->start_va != y->start_va)
		return x->start_va < y->start_va ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static void sort(struct code_table *t)
{
	if (t->sorted_count != t->count)
		qsort(t->pieces, t->count, sizeof(*t->pieces), compare_pieces);
	t->sorted_count = t->count;
}

/* Index of the first of those that are sorted that begins at an address or behind it. */
static u32 first_from(const struct code_table *t, u64 va)
{
	u32 lo = 0, hi = t->sorted_count;

	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;

		if (t->pieces[mid].start_va < va)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

u32 code_table_from(struct code_table *t, u64 va)
{
	sort(t);
	return first_from(t, va);
}

/* Of two pieces, the second if it has the address and was told later. */
static const struct code_piece *later(const struct code_piece *found, const struct code_piece *piece, u64 va)
{
	bool has_it = va >= piece->start_va && va < piece->end_va;

	return has_it && (!found || piece->order > found->order) ? piece : found;
}

const struct code_piece *code_table_find(struct code_table *t, u64 va)
{
	const struct code_piece *found = NULL;
	u32 behind;

	if (t->count - t->sorted_count > TAIL_MAX)
		sort(t);
	behind = va == ~0ull ? t->sorted_count : first_from(t, va + 1);
	for (u32 i = 0; i < LOOK_BACK && behind > 0; i++, behind--)
		found = later(found, &t->pieces[behind - 1], va);
	for (u32 i = t->sorted_count; i < t->count; i++)
		found = later(found, &t->pieces[i], va);
	return found;
}
