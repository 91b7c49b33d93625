// SPDX-License-Identifier: Apache-2.0
#include "store/clickhouse_flame.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/saturate.h"
#include "clickhouse/tuples.h"
#include "kinds/unit.h"
#include "store/names.h"

#define ARENA_BYTES_MAX ((size_t)512 << 20)
#define NUMBERS_MAX (16u << 20)

struct clickhouse_node {
	u32 label, depth, frame;
	u64 parent;		/* the server's */
	s64 total, self;
	u32 at;			/* in the flame, + 1; 0: not there */
};

/* Compared as bytes. */
struct node_key {
	u64 label, node;
};

int clickhouse_flame_init(struct clickhouse_flame *f)
{
	*f = (struct clickhouse_flame){ .flame = calltree_new() };
	arena_init(&f->arena, ARENA_BYTES_MAX);
	interner_init(&f->labels, &f->arena, NUMBERS_MAX);
	interner_init(&f->nodes, &f->arena, NUMBERS_MAX);
	interner_init(&f->frames, &f->arena, NUMBERS_MAX);
	return f->flame ? 0 : -ENOMEM;
}

void clickhouse_flame_done(struct clickhouse_flame *f)
{
	interner_done(&f->labels);
	interner_done(&f->nodes);
	interner_done(&f->frames);
	arena_done(&f->arena);
	free(f->rows);
	free(f->frame_at);
	calltree_free(f->flame);
}

/* ---- What the server says ------------------------------------------------------------------- */

/* Two of one number are one: they are not to be told apart by it. */
static int read_node(struct clickhouse_flame *f, struct tuples *tuples)
{
	struct str label = tuples_text(tuples);
	u32 depth = (u32)tuples_uint(tuples, 4);
	struct node_key key = { interner_add(&f->labels, label.len ? label.at : "", label.len, NULL),
				tuples_uint(tuples, 8) };
	u64 parent = tuples_uint(tuples, 8), frame = tuples_uint(tuples, 8);
	u32 number = interner_add(&f->nodes, &key, sizeof(key), NULL);
	u32 frame_number = interner_add(&f->frames, &frame, sizeof(frame), NULL);
	struct clickhouse_node *row;

	if (key.label == INTERNER_NONE || number == INTERNER_NONE || frame_number == INTERNER_NONE)
		return -ENOMEM;
	if (array_reserve(&f->rows, &f->row_cap, number + 1, sizeof(*f->rows)) < 0)
		return -ENOMEM;
	row = &f->rows[number];
	row->label = (u32)key.label;
	row->depth = depth;
	row->frame = frame_number;
	row->parent = parent;
	row->total = saturating_add(row->total, tuples_int(tuples, 8));
	row->self = saturating_add(row->self, tuples_int(tuples, 8));
	return 0;
}

int clickhouse_flame_nodes(struct clickhouse_flame *f, struct tuples *tuples, u32 nodes_max)
{
	int r = 0;

	while (r == 0 && tuples_next(tuples)) {
		r = read_node(f, tuples);
		if (r == 0 && f->nodes.count > nodes_max)
			r = -E2BIG;
	}
	if (r == 0)
		r = tuples_err(tuples);
	return r < 0 ? r : array_reserve(&f->frame_at, &f->frame_cap, f->frames.count + 1, sizeof(*f->frame_at));
}

/* As the local store has it: what is only a place is called by it, and has no file. */
static void name_frame(struct calltree *flame, struct frame *frame)
{
	u64 address;

	if (names_frame_is_place(frame->type, frame->name, frame->exe, frame->address, &address)) {
		frame->file = STR("");
		frame->line = 0;
		frame->source = NAME_NONE;
		frame->address = address;
		frame->name = calltree_place_name(flame, frame->exe, address);
		return;
	}
	frame->source = frame->name.len ? NAME_SENT : NAME_NONE;
	if (!frame->name.len)
		frame->name = frame->address ? calltree_place_name(flame, frame->exe, frame->address) :
					       STR("[unknown]");
}

static int read_frame(struct clickhouse_flame *f, struct tuples *tuples)
{
	u64 id = tuples_uint(tuples, 8);
	u32 number = interner_find(&f->frames, &id, sizeof(id));
	struct frame frame = { 0 };
	s64 at;

	frame.name = tuples_text(tuples);
	frame.file = tuples_text(tuples);
	frame.line = (u32)tuples_uint(tuples, 4);
	frame.address = tuples_uint(tuples, 8);
	frame.exe = tuples_text(tuples);
	frame.build_id = tuples_text(tuples);
	frame.type = tuples_text(tuples);
	frame.is_inline = tuples_uint(tuples, 1);
	if (number == INTERNER_NONE || tuples_err(tuples) < 0)
		return 0;
	name_frame(f->flame, &frame);
	at = calltree_frame(f->flame, &frame);
	if (at >= 0)
		f->frame_at[number] = (u32)at;
	return at < 0 ? (int)at : 0;
}

void clickhouse_flame_wanted(const struct clickhouse_flame *f, u32 max, u64 **ret_frames, u32 *ret_count)
{
	u32 count = f->frames.count;
	u64 *frames = count && count <= max ? reallocarray(NULL, count, sizeof(*frames)) : NULL;

	for (u32 i = 0; frames && i < count; i++)
		memcpy(&frames[i], interner_get(&f->frames, i)->at, sizeof(*frames));
	*ret_frames = frames;
	*ret_count = frames ? count : 0;
}

int clickhouse_flame_frames(struct clickhouse_flame *f, struct tuples *tuples)
{
	int r = 0;

	while (r == 0 && tuples_next(tuples))
		r = read_frame(f, tuples);
	return r < 0 ? r : tuples_err(tuples);
}

static int own_text(struct calltree *flame, const char *at, u32 len, struct str *ret_text)
{
	char *copy = len ? arena_copy(&flame->arena, at, len) : "";

	if (!copy)
		return -ENOMEM;
	*ret_text = (struct str){ copy, len };
	return 0;
}

/* Values of different units do not add up to anything that has one. */
int clickhouse_flame_units(struct clickhouse_flame *f, struct tuples *tuples, bool *ret_by_period)
{
	struct str first = tuples_text(tuples), last = tuples_text(tuples);
	u64 shortest = tuples_uint(tuples, 8), longest = tuples_uint(tuples, 8);
	char period[24];
	int r = tuples_err(tuples);

	*ret_by_period = r == 0 && str_equal(first, last) && unit_scale(first).unit == UNIT_COUNT && shortest &&
			 shortest != longest;
	if (*ret_by_period)
		r = own_text(f->flame, "nanoseconds", strlen("nanoseconds"), &f->flame->unit);
	else if (r == 0 && str_equal(first, last))
		r = own_text(f->flame, first.at, first.len, &f->flame->unit);
	if (r == 0 && shortest && shortest == longest)
		r = own_text(f->flame, period, (u32)snprintf(period, sizeof(period), "%llu", shortest),
			     &f->flame->period);
	return r;
}

/* ---- The tree -------------------------------------------------------------------------------- */

static s64 unknown_frame(struct clickhouse_flame *f, u32 number)
{
	s64 at = calltree_frame(f->flame, &(struct frame){ .name = STR("[unknown]") });

	if (at >= 0)
		f->frame_at[number] = (u32)at;
	return at;
}

/* The node that all of a label hangs from. */
static s64 top_node(struct clickhouse_flame *f, u32 label, enum store_label group_by)
{
	const struct interner_entry *text = interner_get(&f->labels, label);
	struct frame frame = { .name = { text->at, text->len }, .type = STR("label") };
	s64 at;

	if (group_by == STORE_LABEL_COUNT)
		return 0;
	if (!frame.name.len)
		frame.name = store_label_none(group_by);
	at = calltree_frame(f->flame, &frame);
	return at < 0 ? at : calltree_node(f->flame, 0, (u32)at);
}

static s64 node_below(struct clickhouse_flame *f, const struct clickhouse_node *row)
{
	struct node_key key = { row->label, row->parent };
	u32 parent = interner_find(&f->nodes, &key, sizeof(key));
	s64 frame = f->frame_at[row->frame];

	if (parent == INTERNER_NONE || !f->rows[parent].at)
		return -ENOENT;
	if (!frame)
		frame = unknown_frame(f, row->frame);
	return frame < 0 ? frame : calltree_node(f->flame, f->rows[parent].at - 1, (u32)frame);
}

/* Those above have their place already, or never get one. */
static int place(struct clickhouse_flame *f, struct clickhouse_node *row, enum store_label group_by)
{
	s64 at = row->depth <= 1 ? top_node(f, row->label, group_by) : node_below(f, row);

	if (at < 0)
		return at == -ENOENT ? 0 : (int)at;
	row->at = (u32)at + 1;
	calltree_add(f->flame, (u32)at, row->self, row->total);
	if (row->depth <= 1 && at)
		calltree_add(f->flame, 0, 0, row->total);
	return 0;
}

static int compare_depths(const void *a, const void *b, void *arg)
{
	const struct clickhouse_node *rows = arg;
	u32 x = *(const u32 *)a, y = *(const u32 *)b;

	return rows[x].depth != rows[y].depth ? (rows[x].depth < rows[y].depth ? -1 : 1) : (x > y) - (x < y);
}

int clickhouse_flame_finish(struct clickhouse_flame *f, enum store_label group_by, struct calltree **ret_flame)
{
	_cleanup_(freep) u32 *order = reallocarray(NULL, (size_t)f->nodes.count + 1, sizeof(*order));
	int r = order ? 0 : -ENOMEM;

	for (u32 i = 0; order && i < f->nodes.count; i++)
		order[i] = i;
	if (r == 0)
		qsort_r(order, f->nodes.count, sizeof(*order), compare_depths, f->rows);
	for (u32 i = 0; i < f->nodes.count && r == 0; i++)
		r = place(f, &f->rows[order[i]], group_by);
	if (r == 0)
		*ret_flame = TAKE(f->flame);
	return r;
}
