// SPDX-License-Identifier: Apache-2.0
#include "store/flame_query.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/budget.h"
#include "base/largest.h"
#include "base/saturate.h"
#include "profile/any.h"
#include "analysis/calltree.h"

#define ROWS_AHEAD 16

#define PLACES_MAX (64u << 20)

/* Where a node of the dictionary stands in the flame, under the node of a group that does not own it. */
struct place {
	u32 group, node;
	u32 at;			/* in the flame, + 1; 0: not there yet */
	s64 value;
};

static u64 place_hash(const void *row, u64 seed)
{
	const struct place *p = row;

	return hash_mix(seed, (u64)p->group << 32 | p->node);
}

static bool place_equal(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return x->group == y->group && x->node == y->node;
}

static const struct table_type place_type = { sizeof(struct place), place_hash, place_equal, NULL };

static void flame_epoch_done(struct flame_query *q, struct flame_epoch *g)
{
	if (g->dict)
		dicts_put(q->store, &q->store->epochs[g - q->epochs]);
	free(g->values);
	free(g->nodes);
	free(g->frames);
	free(g->owners);
	table_done(&g->places);
	budget_scratch_back(g->bytes);
	*g = (struct flame_epoch){ 0 };
}

void flame_query_let_go(struct flame_query *q)
{
	for (u32 i = 0; q->epochs && i < q->epoch_count; i++)
		flame_epoch_done(q, &q->epochs[i]);
}

void flame_query_done(struct flame_query *q)
{
	free(q->epochs);
	calltree_free(q->flame);
}

/* Values of different units do not add up to anything that has one. */
static void note_unit(struct flame_query *q)
{
	struct str unit = weigh_unit(&q->weigh), period = weigh_period(&q->weigh);

	q->flame->unit = (struct str){ arena_copy(&q->flame->arena, unit.at, unit.len), unit.len };
	q->flame->period = (struct str){ arena_copy(&q->flame->arena, period.at, period.len), period.len };
}

static void multiply_all(struct flame_query *q, s64 factor)
{
	for (u32 i = 0; i < q->epoch_count; i++)
		for (u32 n = 0; q->epochs[i].values && n < q->epochs[i].count; n++)
			q->epochs[i].values[n] = saturating_multiply(q->epochs[i].values[n], factor);
	for (u32 i = 0; i < q->epoch_count; i++)
		for (u32 n = 0; q->epochs[i].values && n < q->epochs[i].places.count; n++) {
			struct place *place = (struct place *)q->epochs[i].places.rows + n;

			place->value = saturating_multiply(place->value, factor);
		}
	calltree_multiply(q->flame, factor);
}

/* What the row's value counts as. */
static inline s64 weighed(struct flame_query *q, const struct scan_row *row)
{
	s64 before = weigh_row(&q->weigh, row);

	if (before != 1)
		multiply_all(q, before);
	return q->weigh.factor == 1 ? row->row->value : saturating_multiply(row->row->value, q->weigh.factor);
}

static int flame_epoch_init(struct flame_query *q, const struct scan_row *row)
{
	struct flame_epoch *g = &q->epochs[row->epoch_index];
	size_t count = (size_t)row->dict->nodes.count + 1, frames = (size_t)row->dict->frames.count + 1;
	int r = dicts_get(q->store, NULL, &q->store->epochs[row->epoch_index], &g->dict);

	if (r < 0)
		return r;
	table_init(&g->places, &place_type, NULL, 0, PLACES_MAX);
	/* Adding to a page that was never written faults twice: not by calloc(), nor by what compilers make that of. */
	g->values = budget_scratch(count * sizeof(*g->values)) < 0 ? NULL :
		    reallocarray(NULL, count, sizeof(*g->values));
	if (g->values)
		memset(g->values, 0, count * sizeof(*g->values));
	g->count = g->values ? (u32)count : 0;
	g->nodes = array_calloc(count, sizeof(*g->nodes));
	g->frames = array_calloc(frames, sizeof(*g->frames));
	if (!g->values || !g->nodes || !g->frames)
		return -ENOMEM;
	g->bytes = count * (sizeof(*g->values) + sizeof(*g->nodes)) + frames * sizeof(*g->frames);
	if (q->group_by == STORE_LABEL_COUNT)
		return 0;
	g->owners = array_calloc(count, sizeof(*g->owners));
	if (!g->owners)
		return -ENOMEM;
	g->bytes += count * sizeof(*g->owners);
	return 0;
}

/* What has no name is called by one that came later, else by where it is. */
static void use_late_name(struct calltree *flame, const struct names *names, struct frame *frame, u64 address)
{
	const struct name_function *function = names_find(names, frame->build_id, address);

	frame->file = STR("");
	frame->line = 0;
	if (function && function->name.len) {
		frame->name = function->name;
		frame->file = function->file;
		frame->source = function->source;
		frame->address = 0;
		return;
	}
	frame->source = NAME_NONE;
	frame->address = function ? function->start : address;
	frame->name = calltree_place_name(flame, frame->exe, frame->address);
}

s64 flame_query_frame(struct calltree *flame, const struct names *names, const struct dict *dict, u32 number)
{
	const struct dict_frame *f = dict_frame(dict, number);
	const struct dict_exe *exe = dict_exe(dict, f->exe);
	struct frame frame = {
		.name = dict_string(dict, f->name),
		.file = dict_string(dict, f->file),
		.exe = dict_string(dict, exe->path),
		.build_id = dict_string(dict, exe->build_id),
		.type = dict_string(dict, f->type),
		.line = f->line,
		.is_inline = f->is_inline,
		.source = f->name ? NAME_SENT : NAME_NONE,
		.address = f->address,
	};
	u64 address;

	if (store_frame_place(dict, f, &address))
		use_late_name(flame, names, &frame, address);
	else if (!frame.name.len)
		frame.name = f->address ? calltree_place_name(flame, frame.exe, f->address) : STR("[unknown]");
	return calltree_frame(flame, &frame);
}

static s64 frame_of(struct flame_query *q, struct flame_epoch *g, const struct dict *dict, u32 number)
{
	u32 before = q->flame->frames.count;
	s64 frame;

	if (g->frames[number])
		return g->frames[number] - 1;
	frame = flame_query_frame(q->flame, q->store->names, dict, number);
	if (frame < 0)
		return frame;
	q->is_joined |= q->flame->frames.count == before;
	g->frames[number] = (u32)frame + 1;
	return frame;
}

/* ---- All in one tree: values by node, then one pass up and one down -------------------------- */

int flame_query_count(void *arg, const struct scan_row *row)
{
	struct flame_query *q = arg;
	struct flame_epoch *g = &q->epochs[row->epoch_index];
	s64 value;

	if (!g->values) {
		int r = flame_epoch_init(q, row);

		if (r < 0)
			return r;
	}
	value = weighed(q, row);
	/* Most of the time would go by waiting for memory. */
	if (row->rows->rows + row->rows->count - row->row > ROWS_AHEAD)
		__builtin_prefetch(&g->values[row->row[ROWS_AHEAD].node], 1);
	q->is_negative |= row->row->value < 0;
	g->values[row->row->node] = saturating_add(g->values[row->row->node], value);
	return 0;
}

/* Nodes of one dictionary are those of the flame one by one, as long as no two frames are one. */
static s64 add_child(struct flame_query *q, u32 parent, u32 frame)
{
	return !q->is_begun && !q->is_joined ? calltree_append(q->flame, parent, frame) :
					       calltree_node(q->flame, parent, frame);
}

/* Which nodes are on the way to one that has a value: marked in nodes. */
static void mark_paths(struct flame_epoch *g, const struct dict *dict)
{
	const struct dict_node *nodes = dict_nodes(dict);

	for (u32 i = dict->nodes.count; i-- > 1;)
		if (g->values[i] || g->nodes[i])
			g->nodes[i] = g->nodes[nodes[i].parent] = 1;
	g->nodes[0] = 1;
}

static int merge_epoch(struct flame_query *q, struct flame_epoch *g, const struct dict *dict)
{
	const struct dict_node *nodes = dict_nodes(dict);

	mark_paths(g, dict);
	calltree_count(q->flame, 0, g->values[0]);
	for (u32 i = 1; i < dict->nodes.count; i++) {
		s64 frame, node;

		if (!g->nodes[i])
			continue;
		frame = frame_of(q, g, dict, nodes[i].frame);
		if (frame < 0)
			return (int)frame;
		node = add_child(q, g->nodes[nodes[i].parent] - 1, (u32)frame);
		if (node < 0)
			return (int)node;
		g->nodes[i] = (u32)node + 1;
		calltree_count(q->flame, (u32)node, g->values[i]);
	}
	return 0;
}

static int merge_grouped(struct flame_query *q, struct flame_epoch *g, const struct dict *dict);

int flame_query_merge(struct flame_query *q)
{
	int r = 0;

	for (u32 i = 0; i < q->epoch_count && r == 0; i++) {
		struct flame_epoch *g = &q->epochs[i];

		if (!g->values)
			continue;
		r = g->owners ? merge_grouped(q, g, g->dict) : merge_epoch(q, g, g->dict);
		q->is_begun = true;
	}
	return r;
}

/* What was gathered so far goes into the flame, where it needs no dictionary. */
static int make_room(void *arg)
{
	struct flame_query *q = arg;
	int r = flame_query_merge(q);

	flame_query_let_go(q);
	return r;
}

/* ---- Only the largest: the same totals, but what is too small never gets a name ---------------- */

/* Values become totals, of a node and those below it. False: that is too much, and wraps around. */
static bool sum_up(s64 *values, const struct dict *dict)
{
	const struct dict_node *nodes = dict_nodes(dict);
	bool wraps = false;

	for (u32 i = dict->nodes.count; i-- > 1;)
		wraps |= __builtin_add_overflow(values[nodes[i].parent], values[i], &values[nodes[i].parent]);
	return !wraps;
}

/* And back again, from what has wrapped around too. */
static void take_apart(s64 *totals, const struct dict *dict)
{
	const struct dict_node *nodes = dict_nodes(dict);

	for (u32 i = 1; i < dict->nodes.count; i++)
		(void)__builtin_sub_overflow(totals[nodes[i].parent], totals[i], &totals[nodes[i].parent]);
}

/* A frame that came with its name is called by that: no other frame of the dictionary is called the same. */
static bool has_own_name(const struct dict *dict, const struct dict_frame *f)
{
	u64 address;

	return f->name && !store_frame_place(dict, f, &address);
}

/* Two frames may turn out to be one, but only if one of them was sent without a name. Then all have to be looked at. */
static int look_for_joined(struct flame_query *q, struct flame_epoch *g, const struct dict *dict)
{
	_cleanup_(freep) bool *used = array_calloc((size_t)dict->frames.count + 1, sizeof(*used));
	const struct dict_node *nodes = dict_nodes(dict);
	bool all_named = true;

	if (!used)
		return -ENOMEM;
	for (u32 i = 1; i < dict->nodes.count; i++)
		used[nodes[i].frame] |= g->values[i] > 0;
	for (u32 i = 0; i < dict->frames.count && all_named; i++)
		all_named = !used[i] || has_own_name(dict, dict_frame(dict, i));
	for (u32 i = 0; i < dict->frames.count && !all_named && !q->is_joined; i++) {
		s64 frame = used[i] ? frame_of(q, g, dict, i) : 0;

		if (frame < 0)
			return (int)frame;
	}
	return 0;
}

/* What a node has itself is what its children leave of its total. */
static int take_largest(struct flame_query *q, struct flame_epoch *g, const struct dict *dict, struct largest *largest)
{
	const struct dict_node *nodes = dict_nodes(dict);
	const s64 *totals = g->values;

	g->nodes[0] = 1;
	(void)largest_takes(largest, totals[0]);	/* the root is always there */
	calltree_set_total(q->flame, 0, totals[0]);
	for (u32 i = 1; i < dict->nodes.count; i++) {
		u32 parent = g->nodes[nodes[i].parent];
		s64 node;

		if (!totals[i] || !parent)
			continue;
		calltree_count(q->flame, parent - 1, -totals[i]);
		if (!largest_takes(largest, totals[i]))
			continue;
		node = frame_of(q, g, dict, nodes[i].frame);
		if (node >= 0)
			node = calltree_append(q->flame, parent - 1, (u32)node);
		if (node < 0)
			return (int)node;
		g->nodes[i] = (u32)node + 1;
		calltree_set_total(q->flame, (u32)node, totals[i]);
	}
	return 0;
}

/* The epoch that everything is from; NULL if there are several, or none. */
static struct flame_epoch *only_epoch(const struct flame_query *q)
{
	struct flame_epoch *only = NULL;

	for (u32 i = 0; i < q->epoch_count; i++) {
		if (only && q->epochs[i].values)
			return NULL;
		only = q->epochs[i].values ? &q->epochs[i] : only;
	}
	return only;
}

/* 1: done. 0: nodes of the dictionary are not those of the flame one by one, or may be larger than their parents. */
static int merge_largest(struct flame_query *q, u32 nodes_max)
{
	struct flame_epoch *g = only_epoch(q);
	const struct dict *dict = g ? g->dict : NULL;
	struct largest largest;
	bool wraps;
	int r;

	if (!g || q->is_begun || q->is_negative)
		return 0;
	wraps = !sum_up(g->values, dict);
	r = wraps ? 0 : look_for_joined(q, g, dict);
	if (r == 0 && (wraps || q->is_joined)) {
		take_apart(g->values, dict);
		return 0;
	}
	if (r == 0)
		r = largest_init(&largest, g->values, dict->nodes.count, nodes_max);
	if (r == 0)
		r = take_largest(q, g, dict, &largest);
	return r < 0 ? r : 1;
}

/* ---- A tree for each value of a label --------------------------------------------------------- */

/*
 * Most nodes of a dictionary are of one group only: of it they have their values in the array, as without groups. What
 * other groups have at a node, and the way there, is in a table.
 */
#define DEPTH_MAX 2048

/* The way up to the next one that has its place, and down again. */
static s64 place_of(struct flame_query *q, struct flame_epoch *g, const struct dict *dict, u32 group, u32 node)
{
	const struct dict_node *nodes = dict_nodes(dict);
	u32 way[DEPTH_MAX], depth = 0;
	s64 at = group;

	for (; node && depth < DEPTH_MAX; node = nodes[node].parent) {
		const struct place *place;
		s64 number;

		if (g->owners[node] == group + 1) {
			at = g->nodes[node] - 1;
			break;
		}
		number = table_add(&g->places, &(struct place){ .group = group, .node = node });
		if (number < 0)
			return number;
		place = (const struct place *)g->places.rows + number;
		if (place->at) {
			at = place->at - 1;
			break;
		}
		way[depth++] = (u32)number;
	}
	while (at >= 0 && depth) {
		struct place *place = (struct place *)g->places.rows + way[--depth];
		s64 frame = frame_of(q, g, dict, nodes[place->node].frame);

		at = frame < 0 ? frame : add_child(q, (u32)at, (u32)frame);
		place->at = (u32)at + 1;
	}
	return at;
}

/* Rows of a series, and in it those of a set of labels, stand together, and mostly have one group. */
static bool is_same_group(const struct flame_query *q, const struct scan_row *row)
{
	return q->has_group && q->group_epoch == row->epoch_index && q->group_series == row->row->series &&
	       (q->group_by < STORE_KEY ||
		(q->group_block == row->block && q->group_labels == row->row->labels));
}

static s64 group_of(struct flame_query *q, const struct scan_row *row)
{
	char scratch[SCAN_LABEL_BYTES];
	struct frame group = { .type = STR("label") };
	s64 frame;

	if (is_same_group(q, row))
		return q->group;
	group.name = scan_label(row, q->group_by, scratch);
	if (!group.name.len)
		group.name = store_label_none(q->group_by);
	frame = calltree_frame(q->flame, &group);
	q->group = frame < 0 ? frame : calltree_node(q->flame, 0, (u32)frame);
	q->has_group = block_is_sums(scan_label_column(q->group_by));
	q->group_epoch = row->epoch_index;
	q->group_series = row->row->series;
	q->group_labels = row->row->labels;
	q->group_block = row->block;
	return q->group;
}

static int count_grouped(void *arg, const struct scan_row *row)
{
	struct flame_query *q = arg;
	struct flame_epoch *g = &q->epochs[row->epoch_index];
	u32 node = row->row->node;
	s64 *at, group, number, value;

	if (!g->values && flame_epoch_init(q, row) < 0)
		return -ENOMEM;
	value = weighed(q, row);
	group = group_of(q, row);
	if (group < 0)
		return (int)group;
	if (!g->owners[node])
		g->owners[node] = (u32)group + 1;
	at = &g->values[node];
	if (g->owners[node] != group + 1) {
		number = table_add(&g->places, &(struct place){ .group = (u32)group, .node = node });
		if (number < 0)
			return (int)number;
		at = &((struct place *)g->places.rows + number)->value;
	}
	*at = saturating_add(*at, value);
	return 0;
}

/* A node without a value is of the group of one that is below it. */
static void own_paths(struct flame_epoch *g, const struct dict *dict)
{
	const struct dict_node *nodes = dict_nodes(dict);

	for (u32 i = dict->nodes.count; i-- > 1;)
		if (g->owners[i] && !g->owners[nodes[i].parent])
			g->owners[nodes[i].parent] = g->owners[i];
}

/* Parents stand before their children. */
static int merge_owned(struct flame_query *q, struct flame_epoch *g, const struct dict *dict)
{
	const struct dict_node *nodes = dict_nodes(dict);

	for (u32 i = 1; i < dict->nodes.count; i++) {
		u32 parent = nodes[i].parent;
		s64 at, frame;

		if (!g->owners[i])
			continue;
		at = !parent			      ? g->owners[i] - 1 :
		     g->owners[parent] == g->owners[i] ? g->nodes[parent] - 1 :
						      place_of(q, g, dict, g->owners[i] - 1, parent);
		frame = frame_of(q, g, dict, nodes[i].frame);
		if (at >= 0)
			at = frame < 0 ? frame : add_child(q, (u32)at, (u32)frame);
		if (at < 0)
			return (int)at;
		g->nodes[i] = (u32)at + 1;
		calltree_count(q->flame, (u32)at, g->values[i]);
	}
	return 0;
}

static int merge_grouped(struct flame_query *q, struct flame_epoch *g, const struct dict *dict)
{
	int r;

	if (g->owners[0])	/* stacks without frames */
		calltree_count(q->flame, g->owners[0] - 1, g->values[0]);
	own_paths(g, dict);
	r = merge_owned(q, g, dict);
	for (u32 i = 0; i < g->places.count && r == 0; i++) {
		struct place place = ((const struct place *)g->places.rows)[i];
		s64 at = place.value ? place_of(q, g, dict, place.group, place.node) : 0;

		if (at < 0)
			return (int)at;
		calltree_count(q->flame, (u32)at, place.value);
	}
	return r;
}

int sqlite_flame(struct store *base, const struct store_selection *selection, enum store_label group_by, u32 nodes_max,
		 struct calltree **ret_flame)
{
	struct sqlite_store *store = sqlite_store(base);
	_cleanup_(flame_query_done)
	struct flame_query q = { .store = store, .group_by = group_by, .flame = calltree_new() };
	bool grouped = group_by != STORE_LABEL_COUNT;
	struct scan_options options = { .columns = BLOCK_NODE | BLOCK_VALUE | scan_label_column(group_by),
					.period_max_ns = UINT64_MAX, .make_room = make_room };
	struct scan_plan plan = { 0 };
	int r;

	if (!q.flame)
		return -ENOMEM;
	pthread_rwlock_rdlock(&store->lock);
	q.epoch_count = store->epoch_count;
	q.epochs = calloc((size_t)q.epoch_count + 1, sizeof(*q.epochs));
	r = q.epochs ? scan(store, selection, &options, grouped ? count_grouped : flame_query_count, &q, &plan) :
		       -ENOMEM;
	if (r == 0)
		note_unit(&q);
	if (r == 0 && nodes_max)
		r = merge_largest(&q, nodes_max);
	if (r == 0)
		r = flame_query_merge(&q);
	flame_query_let_go(&q);
	pthread_rwlock_unlock(&store->lock);
	if (r == 0)
		calltree_sum(q.flame);
	if (r >= 0) {
		q.flame->is_coarse = plan.is_coarse;
		q.flame->from_ns = plan.from_ns;
		q.flame->to_ns = plan.to_ns;
		*ret_flame = TAKE(q.flame);
	}
	scan_plan_done(&plan);
	return r < 0 ? r : 0;
}
