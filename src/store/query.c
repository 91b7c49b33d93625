// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/interner.h"
#include "base/largest.h"
#include "profile/any.h"
#include "store/flame.h"
#include "store/scan.h"

#define VALUES_MAX (1u << 20)

static s64 add_saturated(s64 a, s64 b)
{
	s64 sum;

	return __builtin_add_overflow(a, b, &sum) ? (b > 0 ? INT64_MAX : INT64_MIN) : sum;
}

static int scan_locked(struct store *store, const struct store_selection *selection, const struct scan_options *options,
		       scan_fn *fn, void *arg)
{
	int r;

	pthread_rwlock_rdlock(&store->lock);
	r = scan(store, selection, options, fn, arg, NULL);
	pthread_rwlock_unlock(&store->lock);
	return r;
}

/* ---- Flame ------------------------------------------------------------------------------ */

/* What is gathered of one epoch: a value for each node. */
struct gathered {
	s64 *values;
	u32 *nodes, *frames;	/* in the flame, + 1; 0: not there yet */
	struct table places;	/* where there are groups, of struct place */
};

struct flame_query {
	struct store *store;
	enum store_label group_by;
	struct flame *flame;
	struct gathered *epochs;
	u32 epoch_count;
	bool has_unit, has_group;
	u32 unit_epoch, unit_series;	/* of the last row */
	u32 group_epoch, group_series;
	s64 group;		/* the node of the last row's group */
	bool is_joined;		/* two frames of the dictionary are one in the flame: so may be their nodes */
};

static void flame_query_done(struct flame_query *q)
{
	for (u32 i = 0; q->epochs && i < q->epoch_count; i++) {
		free(q->epochs[i].values);
		free(q->epochs[i].nodes);
		free(q->epochs[i].frames);
		table_done(&q->epochs[i].places);
	}
	free(q->epochs);
	flame_free(q->flame);
}

/* Values of different units do not add up to anything that has one. */
static void note_unit_of_series(struct flame_query *q, const struct scan_row *row)
{
	const struct dict_series *series = dict_series(row->dict, row->row->series);
	struct str unit = dict_string(row->dict, series->label[STORE_UNIT]);
	struct str period = dict_string(row->dict, series->label[STORE_PERIOD]);
	struct flame *flame = q->flame;

	q->unit_epoch = row->epoch_index;
	q->unit_series = row->row->series;
	if (!q->has_unit) {
		flame->unit = (struct str){ arena_copy(&flame->arena, unit.at, unit.len), unit.len };
		flame->period = (struct str){ arena_copy(&flame->arena, period.at, period.len), period.len };
		q->has_unit = true;
	}
	if (!flame->unit.at || !str_equal(flame->unit, unit))
		flame->unit = (struct str){ "", 0 };
	if (!flame->period.at || !str_equal(flame->period, period))
		flame->period = (struct str){ "", 0 };
}

/* Rows of a series stand together. */
static inline void note_unit(struct flame_query *q, const struct scan_row *row)
{
	if (!q->has_unit || q->unit_series != row->row->series || q->unit_epoch != row->epoch_index)
		note_unit_of_series(q, row);
}

static int gathered_init(struct gathered *g, const struct dict *dict)
{
	size_t bytes = ((size_t)dict->nodes.count + 1) * sizeof(*g->values);

	/* Not by calloc(): adding to a page that was never written costs two faults. */
	g->values = malloc(bytes);
	if (g->values)
		memset(g->values, 0, bytes);
	g->nodes = calloc((size_t)dict->nodes.count + 1, sizeof(*g->nodes));
	g->frames = calloc((size_t)dict->frames.count + 1, sizeof(*g->frames));
	return g->values && g->nodes && g->frames ? 0 : -ENOMEM;
}

/* A function without a name is where it is in its file. */
static struct str address_name(struct flame *flame, struct str exe, u64 address)
{
	struct str base = str_base_name(exe);
	char text[300];
	int len = snprintf(text, sizeof(text), "%.*s+0x%llx", (int)(base.len < 255 ? base.len : 255),
			   base.len ? base.at : "", address);
	char *copy = arena_copy(&flame->arena, text, (size_t)len);

	return copy ? (struct str){ copy, (u32)len } : STR("[unknown]");
}

/* What has no name is called by one that came later, else by where it is. */
static void use_late_name(struct flame *flame, const struct names *names, struct flame_frame *frame, u64 address)
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
	frame->name = address_name(flame, frame->exe, frame->address);
}

static s64 add_frame(struct flame *flame, const struct names *names, const struct dict *dict,
		     const struct dict_frame *f)
{
	const struct dict_exe *exe = dict_exe(dict, f->exe);
	struct flame_frame frame = {
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
		frame.name = f->address ? address_name(flame, frame.exe, f->address) : STR("[unknown]");
	return flame_frame(flame, &frame);
}

static s64 frame_of(struct flame_query *q, struct gathered *g, const struct dict *dict, u32 number)
{
	u32 before = q->flame->frames.count;
	s64 frame;

	if (g->frames[number])
		return g->frames[number] - 1;
	frame = add_frame(q->flame, q->store->names, dict, dict_frame(dict, number));
	if (frame < 0)
		return frame;
	q->is_joined |= q->flame->frames.count == before;
	g->frames[number] = (u32)frame + 1;
	return frame;
}

/* ---- All in one tree: values by node, then one pass up and one down -------------------------- */

static int count_node(void *arg, const struct scan_row *row)
{
	struct flame_query *q = arg;
	struct gathered *g = &q->epochs[row->epoch_index];

	if (!g->values) {
		int r = gathered_init(g, row->dict);

		if (r < 0)
			return r;
	}
	note_unit(q, row);
	g->values[row->row->node] = add_saturated(g->values[row->row->node], row->row->value);
	return 0;
}

/* Which nodes are on the way to one that has a value: marked in nodes. */
static void mark_paths(struct gathered *g, const struct dict *dict)
{
	const struct dict_node *nodes = dict_nodes(dict);

	for (u32 i = dict->nodes.count; i-- > 1;)
		if (g->values[i] || g->nodes[i])
			g->nodes[i] = g->nodes[nodes[i].parent] = 1;
	g->nodes[0] = 1;
}

static int merge_epoch(struct flame_query *q, struct gathered *g, const struct dict *dict, bool is_first)
{
	const struct dict_node *nodes = dict_nodes(dict);

	mark_paths(g, dict);
	flame_count(q->flame, 0, g->values[0]);
	for (u32 i = 1; i < dict->nodes.count; i++) {
		s64 frame, node;

		if (!g->nodes[i])
			continue;
		frame = frame_of(q, g, dict, nodes[i].frame);
		if (frame < 0)
			return (int)frame;
		node = is_first && !q->is_joined ? flame_append(q->flame, g->nodes[nodes[i].parent] - 1, (u32)frame)
				: flame_node(q->flame, g->nodes[nodes[i].parent] - 1, (u32)frame);
		if (node < 0)
			return (int)node;
		g->nodes[i] = (u32)node + 1;
		flame_count(q->flame, (u32)node, g->values[i]);
	}
	return 0;
}

static int merge_epochs(struct flame_query *q)
{
	bool is_first = true;
	int r = 0;

	for (u32 i = 0; i < q->epoch_count && r == 0; i++) {
		if (!q->epochs[i].values)
			continue;
		r = merge_epoch(q, &q->epochs[i], q->store->epochs[i].dict, is_first);
		is_first = false;
	}
	return r;
}

/* ---- Only the largest: the same totals, but what is too small never gets a name ---------------- */

/* What a node and those below it have. False: a value is negative, so that a child may be larger than its parent. */
static bool sum_up(const struct gathered *g, const struct dict *dict, s64 *totals)
{
	const struct dict_node *nodes = dict_nodes(dict);
	s64 any = 0;

	memcpy(totals, g->values, dict->nodes.count * sizeof(*totals));
	for (u32 i = dict->nodes.count; i-- > 1;) {
		any |= g->values[i];
		totals[nodes[i].parent] = add_saturated(totals[nodes[i].parent], totals[i]);
	}
	return (any | g->values[0]) >= 0;
}

/* The total that a node must have to be among so many; of equals either all or none are. */
static int choose_least(const s64 *totals, u32 count, u32 nodes_max, s64 *ret_least)
{
	s64 first_left_out = 0;
	int r = count > nodes_max ? kth_largest(totals, count, nodes_max, &first_left_out) : 0;

	*ret_least = first_left_out + 1;
	return r;
}

/* A frame that came with its name is called by that: no other frame of the dictionary is called the same. */
static bool has_own_name(const struct dict *dict, const struct dict_frame *f)
{
	u64 address;

	return f->name && !store_frame_place(dict, f, &address);
}

/* Two frames may turn out to be one, but only if one of them was sent without a name. Then all have to be looked at. */
static int look_for_joined(struct flame_query *q, struct gathered *g, const struct dict *dict, const s64 *totals)
{
	_cleanup_(freep) bool *used = calloc((size_t)dict->frames.count + 1, sizeof(*used));
	const struct dict_node *nodes = dict_nodes(dict);
	bool all_named = true;

	if (!used)
		return -ENOMEM;
	for (u32 i = 1; i < dict->nodes.count; i++)
		used[nodes[i].frame] |= totals[i] > 0;
	for (u32 i = 0; i < dict->frames.count && all_named; i++)
		all_named = !used[i] || has_own_name(dict, dict_frame(dict, i));
	for (u32 i = 0; i < dict->frames.count && !all_named && !q->is_joined; i++) {
		s64 frame = used[i] ? frame_of(q, g, dict, i) : 0;

		if (frame < 0)
			return (int)frame;
	}
	return 0;
}

static int take_largest(struct flame_query *q, struct gathered *g, const struct dict *dict, const s64 *totals,
			s64 least)
{
	const struct dict_node *nodes = dict_nodes(dict);

	g->nodes[0] = 1;
	flame_set(q->flame, 0, g->values[0], totals[0]);
	for (u32 i = 1; i < dict->nodes.count; i++) {
		s64 node;

		if (totals[i] < least)
			continue;
		node = frame_of(q, g, dict, nodes[i].frame);
		if (node >= 0)
			node = flame_append(q->flame, g->nodes[nodes[i].parent] - 1, (u32)node);
		if (node < 0)
			return (int)node;
		g->nodes[i] = (u32)node + 1;
		flame_set(q->flame, (u32)node, g->values[i], totals[i]);
	}
	return 0;
}

/* 1: done. 0: nodes of the dictionary are not those of the flame one by one, or values are negative. */
static int merge_largest(struct flame_query *q, u32 nodes_max)
{
	_cleanup_(freep) s64 *totals = NULL;
	struct gathered *only = NULL;
	const struct dict *dict;
	s64 least;
	int r;

	for (u32 i = 0; i < q->epoch_count; i++) {
		if (only && q->epochs[i].values)
			return 0;
		only = q->epochs[i].values ? &q->epochs[i] : only;
	}
	if (!only)
		return 0;
	dict = q->store->epochs[only - q->epochs].dict;
	totals = reallocarray(NULL, (size_t)dict->nodes.count + 1, sizeof(*totals));
	if (!totals)
		return -ENOMEM;
	if (!sum_up(only, dict, totals))
		return 0;
	r = look_for_joined(q, only, dict, totals);
	if (r < 0 || q->is_joined)
		return r;
	r = choose_least(totals, dict->nodes.count, nodes_max, &least);
	if (r == 0)
		r = take_largest(q, only, dict, totals, least);
	return r < 0 ? r : 1;
}

/* ---- A tree for each value of a label --------------------------------------------------------- */

#define DEPTH_MAX 2048
#define PLACES_MAX (64u << 20)

/* Where a node of the dictionary stands in the flame, under the node of a group. */
struct place {
	u32 group, node;
	u32 at;			/* in the flame, + 1; 0: not there yet */
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

/* The way up to the next one that has its place, and down again. */
static s64 place_of(struct flame_query *q, struct gathered *g, const struct dict *dict, u32 group, u32 node)
{
	const struct dict_node *nodes = dict_nodes(dict);
	u32 way[DEPTH_MAX], depth = 0;
	s64 at = group;

	for (; node && depth < DEPTH_MAX; node = nodes[node].parent) {
		s64 number = table_add(&g->places, &(struct place){ group, node, 0 });
		const struct place *place = (const struct place *)g->places.rows + number;

		if (number < 0)
			return number;
		if (place->at) {
			at = place->at - 1;
			break;
		}
		way[depth++] = (u32)number;
	}
	while (at >= 0 && depth) {
		struct place *place = (struct place *)g->places.rows + way[--depth];
		s64 frame = frame_of(q, g, dict, nodes[place->node].frame);

		at = frame < 0 ? frame : flame_node(q->flame, (u32)at, (u32)frame);
		place->at = (u32)at + 1;
	}
	return at;
}

/* Rows of a series stand together, and mostly have one group. */
static s64 group_of(struct flame_query *q, const struct scan_row *row)
{
	char scratch[SCAN_LABEL_BYTES];
	struct flame_frame group = { .type = STR("label") };
	s64 frame;

	if (q->has_group && q->group_epoch == row->epoch_index && q->group_series == row->row->series)
		return q->group;
	group.name = scan_label(row, q->group_by, scratch);
	if (!group.name.len)
		group.name = STR("(none)");
	frame = flame_frame(q->flame, &group);
	q->group = frame < 0 ? frame : flame_node(q->flame, 0, (u32)frame);
	q->has_group = !scan_label_column(q->group_by);
	q->group_epoch = row->epoch_index;
	q->group_series = row->row->series;
	return q->group;
}

static int count_grouped(void *arg, const struct scan_row *row)
{
	struct flame_query *q = arg;
	struct gathered *g = &q->epochs[row->epoch_index];
	s64 at;

	if (!g->values) {
		if (gathered_init(g, row->dict) < 0)
			return -ENOMEM;
		table_init(&g->places, &place_type, NULL, 0, PLACES_MAX);
	}
	note_unit(q, row);
	at = group_of(q, row);
	if (at >= 0)
		at = place_of(q, g, row->dict, (u32)at, row->row->node);
	if (at < 0)
		return (int)at;
	flame_count(q->flame, (u32)at, row->row->value);
	return 0;
}

/* nodes_max: 0 for all of them; else there are no groups. */
static int ask_flame(struct store *store, const struct store_selection *selection, enum store_label group_by,
		     u32 nodes_max, struct flame **ret_flame)
{
	_cleanup_(
		flame_query_done) struct flame_query q = { .store = store, .group_by = group_by, .flame = flame_new() };
	bool grouped = group_by != STORE_LABEL_COUNT;
	struct scan_options options = { .columns = BLOCK_NODE | BLOCK_VALUE | scan_label_column(group_by),
					.period_max_ns = UINT64_MAX };
	struct scan_plan plan = { 0 };
	int r;

	if (!q.flame)
		return -ENOMEM;
	pthread_rwlock_rdlock(&store->lock);
	q.epoch_count = store->epoch_count;
	q.epochs = calloc((size_t)q.epoch_count + 1, sizeof(*q.epochs));
	r = q.epochs ? scan(store, selection, &options, grouped ? count_grouped : count_node, &q, &plan) : -ENOMEM;
	if (r == 0 && nodes_max)
		r = merge_largest(&q, nodes_max);
	if (r == 0 && !grouped)
		r = merge_epochs(&q);
	pthread_rwlock_unlock(&store->lock);
	if (r == 0)
		flame_sum(q.flame);
	if (r >= 0) {
		q.flame->is_coarse = plan.is_coarse;
		q.flame->from_ns = plan.from_ns;
		q.flame->to_ns = plan.to_ns;
		*ret_flame = TAKE(q.flame);
	}
	scan_plan_done(&plan);
	return r < 0 ? r : 0;
}

int store_flame(struct store *store, const struct store_selection *selection, enum store_label group_by,
		struct flame **ret_flame)
{
	return ask_flame(store, selection, group_by, 0, ret_flame);
}

int store_flame_largest(struct store *store, const struct store_selection *selection, u32 nodes_max,
			struct flame **ret_flame)
{
	return ask_flame(store, selection, STORE_LABEL_COUNT, nodes_max, ret_flame);
}

/* ---- Values of a label --------------------------------------------------------------------------- */

struct values_query {
	enum store_label label;
	struct arena arena;
	struct interner texts;
	s64 *totals;
	u32 cap;
};

/* Sums of series are enough for their labels. */
static u32 label_columns(enum store_label label)
{
	u32 column = scan_label_column(label);

	return column ? column | BLOCK_VALUE : BLOCK_SUMS;
}

static void values_query_init(struct values_query *q, enum store_label label)
{
	*q = (struct values_query){ .label = label };
	arena_init(&q->arena, (size_t)64 << 20);
	interner_init(&q->texts, &q->arena, VALUES_MAX);
}

static void values_query_done(struct values_query *q)
{
	interner_done(&q->texts);
	arena_done(&q->arena);
	free(q->totals);
}

/* The number of the row's value; past VALUES_MAX all that come count as the first. */
static int value_number(struct values_query *q, const struct scan_row *row, u32 *ret_number)
{
	char scratch[SCAN_LABEL_BYTES];
	struct str text = q->label == STORE_LABEL_COUNT ? (struct str){ "", 0 } : scan_label(row, q->label, scratch);
	u32 number = interner_add(&q->texts, text.at, text.len, NULL);

	*ret_number = number == INTERNER_NONE ? 0 : number;
	return array_reserve(&q->totals, &q->cap, *ret_number + 1, sizeof(*q->totals));
}

static int count_value(void *arg, const struct scan_row *row)
{
	struct values_query *q = arg;
	u32 number;
	int r = value_number(q, row, &number);

	if (r == 0)
		q->totals[number] = add_saturated(q->totals[number], row->row->value);
	return r;
}

static int compare_values(const void *a, const void *b)
{
	const struct store_value *x = a, *y = b;

	return x->total > y->total ? -1 : x->total < y->total ? 1 : strcmp(x->text, y->text);
}

void store_values_done(struct store_values *values)
{
	for (u32 i = 0; i < values->count; i++)
		free(values->at[i].text);
	free(values->at);
	*values = (struct store_values){ 0 };
}

int store_values(struct store *store, const struct store_selection *selection, enum store_label label, u32 max,
		 struct store_values *ret_values)
{
	_cleanup_(values_query_done) struct values_query q;
	struct scan_options options = { .columns = label_columns(label), .period_max_ns = UINT64_MAX };
	struct store_values values = { 0 };
	int r;

	values_query_init(&q, label);
	r = scan_locked(store, selection, &options, count_value, &q);
	if (r < 0)
		return r;
	values.at = calloc((size_t)q.texts.count + 1, sizeof(*values.at));
	for (u32 i = 0; values.at && i < q.texts.count; i++) {
		const struct interner_entry *e = interner_get(&q.texts, i);

		values.at[i].text = strndup(e->at, e->len);
		values.at[i].total = q.totals[i];
		values.count++;
		if (!values.at[i].text)
			break;
	}
	if (!values.at || values.count < q.texts.count || (values.count && !values.at[values.count - 1].text)) {
		store_values_done(&values);
		return -ENOMEM;
	}
	qsort(values.at, values.count, sizeof(*values.at), compare_values);
	while (values.count > max)
		free(values.at[--values.count].text);
	*ret_values = values;
	return 0;
}

/* ---- Chart ----------------------------------------------------------------------------------------- */

struct chart_query {
	struct values_query values;
	const struct store_selection *selection;
	u32 buckets;
	double *cells;		/* by value and bucket */
	u32 cell_cap;
};

static double period_of(const struct scan_row *row)
{
	struct str text = dict_string(row->dict, dict_series(row->dict, row->row->series)->label[STORE_PERIOD]);
	struct str unit = dict_string(row->dict, dict_series(row->dict, row->row->series)->label[STORE_UNIT]);
	double period = 0;

	if (str_equal(unit, STR("nanoseconds")))
		return 1;
	for (u32 i = 0; i < text.len && text.at[i] >= '0' && text.at[i] <= '9'; i++)
		period = period * 10 + (text.at[i] - '0');
	return period > 0 ? period : 1e9;
}

static int count_bucket(void *arg, const struct scan_row *row)
{
	struct chart_query *q = arg;
	u64 span_ns = q->selection->to_ns - q->selection->from_ns;
	u32 number, bucket = scan_bucket(q->selection, q->buckets, row->time_ns);
	int r = value_number(&q->values, row, &number);

	if (r < 0)
		return r;
	if (number > UINT32_MAX / q->buckets - 1)
		return -E2BIG;
	r = array_reserve(&q->cells, &q->cell_cap, (number + 1) * q->buckets, sizeof(*q->cells));
	if (r < 0)
		return r;
	q->cells[number * q->buckets + bucket] +=
		(double)row->row->value * period_of(row) / ((double)span_ns / q->buckets);
	q->values.totals[number] = add_saturated(q->values.totals[number], row->row->value);
	return 0;
}

void store_chart_done(struct store_chart *chart)
{
	for (u32 i = 0; i < chart->line_count; i++) {
		free(chart->lines[i].name);
		free(chart->lines[i].buckets);
	}
	free(chart->lines);
	*chart = (struct store_chart){ 0 };
}

static int compare_lines(const void *a, const void *b)
{
	const struct store_line *x = a, *y = b;

	return x->total > y->total ? -1 : x->total < y->total;
}

static int make_lines(const struct chart_query *q, struct store_chart *chart)
{
	chart->lines = calloc((size_t)q->values.texts.count + 1, sizeof(*chart->lines));
	if (!chart->lines)
		return -ENOMEM;
	for (u32 i = 0; i < q->values.texts.count; i++) {
		const struct interner_entry *e = interner_get(&q->values.texts, i);
		struct store_line *line = &chart->lines[chart->line_count++];

		line->name = strndup(e->at, e->len);
		line->buckets = calloc(q->buckets, sizeof(*line->buckets));
		if (!line->name || !line->buckets)
			return -ENOMEM;
		memcpy(line->buckets, q->cells + (size_t)i * q->buckets, q->buckets * sizeof(*line->buckets));
		for (u32 b = 0; b < q->buckets; b++)
			line->total += line->buckets[b];
	}
	qsort(chart->lines, chart->line_count, sizeof(*chart->lines), compare_lines);
	return 0;
}

/* The lines past the limit become one. */
static int join_rest(struct store_chart *chart, u32 lines_max)
{
	struct store_line *rest;

	if (chart->line_count <= lines_max || !lines_max)
		return 0;
	rest = &chart->lines[lines_max - 1];
	free(rest->name);
	rest->name = strdup("(other)");
	for (u32 i = lines_max; i < chart->line_count; i++) {
		for (u32 b = 0; b < chart->bucket_count; b++)
			rest->buckets[b] += chart->lines[i].buckets[b];
		rest->total += chart->lines[i].total;
		free(chart->lines[i].name);
		free(chart->lines[i].buckets);
	}
	chart->line_count = lines_max;
	return rest->name ? 0 : -ENOMEM;
}

static void chart_query_done(struct chart_query *q)
{
	values_query_done(&q->values);
	free(q->cells);
}

int store_chart(struct store *store, const struct store_selection *selection, enum store_label by, u32 bucket_count,
		u32 lines_max, struct store_chart *ret_chart)
{
	_cleanup_(chart_query_done) struct chart_query q = { .selection = selection, .buckets = bucket_count };
	struct store_chart chart = { .bucket_count = bucket_count };
	struct scan_options options = { .columns = label_columns(by), .buckets = bucket_count };
	int r;

	values_query_init(&q.values, by);
	if (!bucket_count || selection->to_ns <= selection->from_ns)
		return -EINVAL;
	options.period_max_ns = (selection->to_ns - selection->from_ns) / bucket_count;
	r = scan_locked(store, selection, &options, count_bucket, &q);
	if (r == 0)
		r = make_lines(&q, &chart);
	if (r == 0)
		r = join_rest(&chart, lines_max);
	if (r < 0)
		store_chart_done(&chart);
	else
		*ret_chart = chart;
	return r;
}

/* ---- Heat map ----------------------------------------------------------------------------------------- */

static int count_cell(void *arg, const struct scan_row *row)
{
	struct store_heat *heat = arg;
	u64 at_ns = row->time_ns - heat->from_ns, second = at_ns / SECOND_NS;
	u32 *cell;

	if (row->time_ns < heat->from_ns || second >= heat->seconds)
		return 0;
	cell = &heat->cells[second * heat->rows + at_ns % SECOND_NS * heat->rows / SECOND_NS];
	*cell += *cell < UINT32_MAX;
	heat->max = *cell > heat->max ? *cell : heat->max;
	return 0;
}

void store_heat_done(struct store_heat *heat)
{
	free(heat->cells);
	*heat = (struct store_heat){ 0 };
}

int store_heat(struct store *store, const struct store_selection *selection, u32 rows, struct store_heat *ret_heat)
{
	u64 from_ns = selection->from_ns - selection->from_ns % SECOND_NS;
	u64 seconds = (selection->to_ns - from_ns + SECOND_NS - 1) / SECOND_NS;
	struct store_heat heat = { .from_ns = from_ns, .rows = rows };
	int r;

	if (selection->to_ns <= from_ns || !rows || rows > 1000 || seconds > 86400)
		return -EINVAL;
	heat.seconds = (u32)seconds;
	heat.cells = calloc((size_t)seconds * rows, sizeof(*heat.cells));
	if (!heat.cells)
		return -ENOMEM;
	r = scan_locked(store, selection, &(struct scan_options){ .columns = BLOCK_TIME }, count_cell, &heat);
	if (r < 0)
		store_heat_done(&heat);
	else
		*ret_heat = heat;
	return r;
}
