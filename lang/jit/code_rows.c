// SPDX-License-Identifier: Apache-2.0
#include "lang/jit/code_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "exe/rows.h"
#include "exe/rows_build.h"

static const struct unwind_rule rule_none = { .kind = RULE_NONE };

void code_rows_done(struct code_rows *code)
{
	for (u32 i = 0; i < code->count; i++)
		free(code->at[i].rows);
	free(code->at);
	*code = (struct code_rows){ 0 };
}

/* Index of the first piece that ends behind an address. */
static u32 first_behind(const struct code_rows *code, u64 va)
{
	u32 lo = 0, hi = code->count;

	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;

		if (code->at[mid].place.end_va <= va)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static void remove_overlapped(struct code_rows *code, u64 start_va, u64 end_va)
{
	u32 first = first_behind(code, start_va), last = first;

	for (; last < code->count && code->at[last].place.start_va < end_va; last++) {
		code->bytes -= code->at[last].rows ? code->at[last].rows->bytes : 0;
		free(code->at[last].rows);
	}
	memmove(&code->at[first], &code->at[last], (code->count - last) * sizeof(*code->at));
	code->count -= last - first;
}

/* Takes over the rows, which are freed where they do not fit. */
static void set_rows(struct code_rows *code, struct code_rows_piece *piece, struct rows *rows)
{
	piece->made = true;
	if (!rows)
		return;
	if (code->bytes + rows->bytes > CODE_ROWS_BYTES_MAX) {
		code->dropped++;
		free(rows);
		return;
	}
	code->bytes += rows->bytes;
	piece->rows = rows;
}

void code_rows_add(struct code_rows *code, const struct code_place *place, struct rows *rows)
{
	_cleanup_(freep) struct rows *owned = rows;
	u32 at;

	if (place->start_va >= place->end_va)
		return;
	if (code->count)
		remove_overlapped(code, place->start_va, place->end_va);
	if (code->count == CODE_ROWS_PIECES_MAX ||
	    array_reserve(&code->at, &code->cap, code->count + 1, sizeof(*code->at)) < 0) {
		code->dropped++;
		return;
	}
	at = first_behind(code, place->start_va);
	memmove(&code->at[at + 1], &code->at[at], (code->count - at) * sizeof(*code->at));
	code->at[at] = (struct code_rows_piece){ .place = *place, .order = ++code->order };
	code->count++;
	if (owned)
		set_rows(code, &code->at[at], TAKE(owned));
}

bool code_rows_told(const struct code_rows *code, u64 start_va, u64 end_va)
{
	for (u32 i = first_behind(code, start_va); i < code->count && code->at[i].place.start_va < end_va; i++)
		if (!code->at[i].place.is_met)
			return true;
	return false;
}

u64 code_rows_order(const struct code_rows *code, u64 start_va, u64 end_va)
{
	u64 order = 0;

	if (!start_va && end_va == ~0ull)
		return code->order;
	for (u32 i = first_behind(code, start_va); i < code->count && code->at[i].place.start_va < end_va; i++)
		order = code->at[i].order > order ? code->at[i].order : order;
	return order;
}

/* The rows of a piece between two addresses, which lie in it. */
static void join_piece(struct rows_build *build, const struct rows *rows, u64 start_va, u64 end_va, u64 base_va)
{
	const struct unwind_rule *rule = rows_find(rows, start_va);

	rows_build_add(build, start_va - base_va, rule ? rule : &rule_none);
	for (u32 p = 0; p < rows->page_count; p++) {
		const struct rows_page *page = &rows_pages(rows)[p];

		for (u32 i = page->first; i < page->first + page->count; i++) {
			u64 va = (u64)page->number << ROWS_PAGE_SHIFT | rows_low(rows)[i];

			if (va > start_va && va < end_va)
				rows_build_add(build, va - base_va, &rows_rules(rows)[rows_rule(rows)[i]]);
		}
	}
	rows_build_add(build, end_va - base_va, &rule_none);
}

/* True unless it has to wait. */
static bool make_piece(struct code_rows *code, struct code_rows_piece *piece, code_rows_make *make, void *arg)
{
	struct rows *rows = NULL;
	int r = make(arg, &piece->place, &rows);

	if (r != -EAGAIN)
		set_rows(code, piece, r == 0 ? rows : NULL);
	return r != -EAGAIN;
}

int code_rows_join(struct code_rows *code, u64 start_va, u64 end_va, u64 base_va, code_rows_make *make, void *arg,
		   struct rows **ret_rows)
{
	_cleanup_(rows_build_freep) struct rows_build *build = NULL;
	u32 i = first_behind(code, start_va), made = 0;
	u64 text_bytes = 0;
	bool is_cut = false;
	u16 machine = 0;

	if (i == code->count || code->at[i].place.start_va >= end_va || base_va > start_va)
		return -ENODATA;
	build = rows_build_new();
	if (!build)
		return -ENOMEM;
	for (; i < code->count && code->at[i].place.start_va < end_va; i++) {
		struct code_rows_piece *piece = &code->at[i];
		u64 from = piece->place.start_va > start_va ? piece->place.start_va : start_va;
		u64 to = piece->place.end_va < end_va ? piece->place.end_va : end_va;

		if (!piece->made && made < CODE_ROWS_MAKE_MAX)
			made += make_piece(code, piece, make, arg);
		if (!piece->made && !is_cut) {
			piece->order = ++code->order;
			is_cut = true;
		}
		if (!piece->rows)
			continue;
		join_piece(build, piece->rows, from, to, base_va);
		text_bytes += to - from;
		machine = piece->rows->machine;
	}
	return rows_build_finish(build, machine, text_bytes, ret_rows);
}
