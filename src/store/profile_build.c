// SPDX-License-Identifier: Apache-2.0
#include "store/profile_build.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/budget.h"
#include "kinds/choice.h"
#include "profile/any.h"
#include "profile/split.h"

#define ROWS_MAX (4u << 20)
#define SERIES_MAX (1u << 20)
#define OWNERS_MAX (1u << 22)
#define DEPTH_MAX 4096
#define LINES_MAX 256		/* of one location: more that are inlined get one of their own */

/* ---- What rows have in common ------------------------------------------------------------- */

static u64 series_hash(const void *row, u64 seed)
{
	return hash_bytes(seed, row, sizeof(struct built_series));
}

static bool series_equal(const void *a, const void *b)
{
	return !memcmp(a, b, sizeof(struct built_series));
}

static u64 owner_hash(const void *row, u64 seed)
{
	return hash_bytes(seed, row, sizeof(struct built_owner));
}

static bool owner_equal(const void *a, const void *b)
{
	return !memcmp(a, b, sizeof(struct built_owner));
}

static u64 labels_hash(const void *row, u64 seed)
{
	return hash_bytes(seed, row, sizeof(struct built_labels));
}

static bool labels_equal(const void *a, const void *b)
{
	return !memcmp(a, b, sizeof(struct built_labels));
}

static const struct table_type series_type = { sizeof(struct built_series), series_hash, series_equal, NULL };
static const struct table_type owner_type = { sizeof(struct built_owner), owner_hash, owner_equal, NULL };
static const struct table_type labels_type = { sizeof(struct built_labels), labels_hash, labels_equal, NULL };

int profile_build_init(struct profile_build *b, bool is_summed)
{
	*b = (struct profile_build){ .profile = profile_new(), .is_summed = is_summed };
	table_init(&b->series, &series_type, NULL, 0, SERIES_MAX);
	table_init(&b->owners, &owner_type, NULL, 0, OWNERS_MAX);
	table_init(&b->labels, &labels_type, NULL, 0, OWNERS_MAX);
	return b->profile && table_add(&b->labels, &(struct built_labels){ 0 }) == 0 ? 0 : -ENOMEM;
}

void profile_build_done(struct profile_build *b)
{
	profile_free(b->profile);
	table_done(&b->series);
	table_done(&b->owners);
	table_done(&b->labels);
	free(b->rows);
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static int find_series(struct profile_build *b, const struct scan_row *row)
{
	const struct dict_series *labels = dict_series(row->dict, row->row->series);
	struct built_series series = { 0 };
	s64 number;

	if (b->dict == row->dict && b->last_series == row->row->series)
		return 0;
	for (u32 i = 0; i < STORE_SERIES_LABEL_COUNT; i++) {
		struct str text = dict_string(row->dict, labels->label[i]);

		series.label[i] = profile_add_string(b->profile, text.at, text.len);
	}
	series.label[STORE_WAIT] = 0;
	number = table_add(&b->series, &series);
	if (number < 0)
		return (int)number;
	b->series_number = (u32)number;
	series.label[STORE_TYPE] = series.label[STORE_UNIT] = series.label[STORE_PERIOD] = 0;
	number = table_add(&b->series, &series);
	if (number < 0)
		return (int)number;
	b->resource_number = (u32)number;
	b->dict = row->dict;
	b->last_series = row->row->series;
	return 0;
}

static u32 add_text_attribute(struct profile *p, const char *key, struct str text)
{
	return profile_add_attribute(p, &(struct profile_attribute){
		.key = profile_add_cstring(p, key), .value = { .kind = ANY_STRING, .string = text } });
}

/* The row of a set of labels: the first is the one without any. */
static s64 find_labels(struct profile_build *b, const struct scan_row *row)
{
	struct built_labels built = { 0 };
	struct label labels[LABELS_MAX];

	if (!row->row->labels)
		return 0;
	built.count = label_sets_get(&row->rows->labels, row->row->labels, labels);
	for (u32 i = 0; i < built.count; i++)
		built.at[i] = profile_add_attribute(b->profile, &(struct profile_attribute){
			.key = profile_add_string(b->profile, labels[i].key.at, labels[i].key.len),
			.value = { .kind = ANY_STRING, .string = labels[i].value } });
	return table_add(&b->labels, &built);
}

static int add_owner(struct profile_build *b, const struct scan_row *row, struct built_owner *owner, u32 *ret_owner)
{
	s64 number = find_labels(b, row);

	owner->labels = (u32)number;
	if (number >= 0)
		number = table_add(&b->owners, owner);
	*ret_owner = (u32)number;
	return number < 0 ? (int)number : 0;
}

static int find_owner(struct profile_build *b, const struct scan_row *row, u32 *ret_owner)
{
	struct str wait = dict_string(row->dict, dict_series(row->dict, row->row->series)->label[STORE_WAIT]);
	struct profile *p = b->profile;
	struct built_owner owner = { 0 };

	if (b->is_summed)
		return add_owner(b, row, &owner, ret_owner);
	if (row->row->thread) {
		const struct block_thread *thread = block_thread(row->rows, row->row->thread);
		struct str name = dict_string(row->dict, thread->name);

		if (thread->tid)
			owner.tid = profile_add_attribute_int(p, "thread.id", thread->tid);
		if (name.len)
			owner.thread = add_text_attribute(p, "thread.name", name);
	}
	if (row->row->cpu != BLOCK_NO_CPU)
		owner.cpu = profile_add_attribute_int(p, "cpu.logical_number", row->row->cpu - 1);
	if (wait.len)
		owner.wait = add_text_attribute(p, "wait.reason", wait);
	if (row->row->link) {
		const struct block_link *from = block_link(row->rows, row->row->link);
		struct profile_link link;

		memcpy(link.trace_id, from->trace_id, sizeof(link.trace_id));
		memcpy(link.span_id, from->span_id, sizeof(link.span_id));
		owner.link = profile_add_link(p, &link);
	}
	return add_owner(b, row, &owner, ret_owner);
}

#define BY(field) (x->field != y->field ? (x->field < y->field ? -1 : 1) :

static int compare_samples(const void *a, const void *b)
{
	const struct built_row *x = a, *y = b;

	/* OTLP's samples of one profile have times, all of them, or none. */
	if (x->resource == y->resource && x->series == y->series && !x->time_ns != !y->time_ns)
		return x->time_ns ? 1 : -1;
	return BY(resource) BY(series) BY(node) BY(epoch) BY(owner) BY(address) BY(line) 0)))))));
}

static int compare_rows(const void *a, const void *b)
{
	const struct built_row *x = a, *y = b;
	int r = compare_samples(a, b);

	return r ? r : BY(time_ns) 0);
}

/* Makes room where rows of one series and node are one. */
static int fold(struct profile_build *b)
{
	u32 kept = 0;

	qsort(b->rows, b->count, sizeof(*b->rows), compare_rows);
	for (u32 i = 0; i < b->count; i++) {
		if (kept && !compare_rows(&b->rows[kept - 1], &b->rows[i]))
			b->rows[kept - 1].value += b->rows[i].value;
		else
			b->rows[kept++] = b->rows[i];
	}
	b->count = kept;
	return kept > ROWS_MAX / 2 ? -E2BIG : 0;
}

int profile_build_add(struct profile_build *b, const struct scan_row *row)
{
	struct built_row built = { .node = row->row->node, .epoch = row->epoch_index, .value = row->row->value };
	int r = find_series(b, row);

	if (r == 0)
		r = find_owner(b, row, &built.owner);
	if (r == 0 && !b->is_summed) {
		built.line = row->row->line;
		built.address = row->row->address;
		built.time_ns = row->period_ns ? 0 : row->time_ns;
	}
	if (r == 0 && b->count == ROWS_MAX)
		r = b->is_summed ? fold(b) : -E2BIG;
	if (r == 0)
		r = array_grow(&b->rows, &b->cap, b->count, ROWS_MAX, sizeof(*b->rows));
	if (r < 0)
		return r;
	built.series = b->series_number;
	built.resource = b->resource_number;
	b->rows[b->count++] = built;
	return profile_err(b->profile);
}

/* ---- Frames ------------------------------------------------------------------------------------- */

struct builder {
	struct profile_build *b;
	struct profile *p;
	const struct calltree *tree;
	const struct profile_build_options *options;
	u32 *locations;		/* by node: of those that end there; 0: not made yet */
};

static u32 add_function(struct profile *p, const struct frame *f)
{
	struct profile_function function = { .name = profile_add_string(p, f->name.at, f->name.len),
					     .filename = profile_add_string(p, f->file.at, f->file.len),
					     .start_line = f->line };

	return profile_add_function(p, &function);
}

static u32 add_mapping(struct profile *p, const struct frame *f)
{
	struct profile_mapping mapping = { .filename = profile_add_string(p, f->exe.at, f->exe.len) };
	u32 build_id;

	if (f->build_id.len) {
		build_id = add_text_attribute(p, "process.executable.build_id.gnu", f->build_id);
		mapping.attributes = (struct indices){ &build_id, 1 };
	}
	return f->exe.len || f->build_id.len ? profile_add_mapping(p, &mapping) : 0;
}

/* The location that ends at a node: it, and what it is inlined into. *ret_above: the node above all that. */
static u32 add_location(struct builder *w, u32 node, u64 address, u32 line, u32 *ret_above)
{
	const struct calltree_node *nodes = calltree_nodes(w->tree);
	struct profile_line lines[LINES_MAX] = { 0 };
	struct profile_location location = { .address = address, .lines = lines };
	const struct frame *f;
	u32 type;

	do {
		f = calltree_frame_of(w->tree, node);
		lines[location.line_count++].function = add_function(w->p, f);
		node = nodes[node].parent;
	} while (f->is_inline && node && location.line_count < LINES_MAX);
	lines[0].line = line;
	if (!location.address)
		location.address = f->address;
	location.mapping = add_mapping(w->p, f);
	if (f->type.len) {
		type = add_text_attribute(w->p, "profile.frame.type", f->type);
		location.attributes = (struct indices){ &type, 1 };
	}
	*ret_above = node;
	return profile_add_location(w->p, &location);
}

static u32 node_above(const struct builder *w, u32 node)
{
	const struct calltree_node *nodes = calltree_nodes(w->tree);
	u32 lines = 0;
	bool is_inline;

	do {
		is_inline = calltree_frame_of(w->tree, node)->is_inline;
		node = nodes[node].parent;
	} while (is_inline && node && ++lines < LINES_MAX);
	return node;
}

static u32 add_stack(struct builder *w, const struct built_row *row)
{
	u32 stack[DEPTH_MAX], depth = 0, node = row->node, above;

	if (node && w->options->leaves && (row->address || row->line)) {
		stack[depth++] = add_location(w, node, row->address, row->line, &above);
		node = above;
	}
	for (; node && depth < DEPTH_MAX; node = above) {
		if (!w->locations[node])
			w->locations[node] = add_location(w, node, 0, 0, &above);
		else
			above = node_above(w, node);
		stack[depth++] = w->locations[node];
	}
	return profile_add_stack(w->p, stack, depth);
}

/* ---- Samples ---------------------------------------------------------------------------------------- */

/* Those without times are one value: nothing tells them apart. */
static bool add_values(struct profile *p, struct profile_sample *sample, const struct built_row *rows, u32 count)
{
	u32 value_count = rows->time_ns ? count : 1;
	s64 *values = profile_alloc(p, value_count * sizeof(*values));
	u64 *times = rows->time_ns ? profile_alloc(p, count * sizeof(*times)) : NULL;

	if (!values || (rows->time_ns && !times))
		return false;
	values[0] = 0;
	for (u32 i = 0; i < count; i++) {
		if (times) {
			values[i] = rows[i].value;
			times[i] = rows[i].time_ns;
		} else {
			values[0] += rows[i].value;
		}
	}
	sample->values = values;
	sample->times_unix_ns = times;
	sample->value_count = value_count;
	sample->time_count = times ? count : 0;
	return true;
}

static void add_sample(struct builder *w, struct profile_set *set, const struct built_row *rows, u32 count)
{
	const struct built_owner *owner = (const struct built_owner *)w->b->owners.rows + rows->owner;
	struct profile_sample *sample = profile_add_sample(w->p, set);
	const struct built_labels *labels = (const struct built_labels *)w->b->labels.rows + owner->labels;
	u32 attributes[4 + LABELS_MAX], n = labels->count;

	if (!sample || !add_values(w->p, sample, rows, count))
		return;
	sample->stack = add_stack(w, rows);
	sample->link = owner->link;
	memcpy(attributes, labels->at, n * sizeof(*attributes));
	attributes[n] = owner->tid;
	n += owner->tid != 0;
	attributes[n] = owner->thread;
	n += owner->thread != 0;
	attributes[n] = owner->cpu;
	n += owner->cpu != 0;
	attributes[n] = owner->wait;
	n += owner->wait != 0;
	sample->attributes = profile_copy_indices(w->p, attributes, n);
}

static struct str label_of(const struct builder *w, u32 series, enum store_label label)
{
	return w->p->strings.at[((const struct built_series *)w->b->series.rows)[series].label[label]];
}

static s64 number_of(struct str text)
{
	s64 number = 0;

	for (u32 i = 0; i < text.len && number < INT64_MAX / 20; i++) {
		if (text.at[i] < '0' || text.at[i] > '9')
			return -1;
		number = number * 10 + (text.at[i] - '0');
	}
	return text.len ? number : -1;
}

static struct profile_scope *add_resource(struct builder *w, u32 series)
{
	struct keyvalue attributes[STORE_SERIES_LABEL_COUNT];
	u32 count = 0;

	for (u32 i = 0; i < STORE_SERIES_LABEL_COUNT; i++) {
		struct str key = str_of(store_label_attribute(i)), text = label_of(w, series, i);
		struct any value = { .kind = ANY_STRING, .string = text };

		if (!key.len || !text.len || (i == STORE_HOST && str_is(text, PROFILE_HOST_UNKNOWN)))
			continue;
		if (i == STORE_PID && number_of(text) >= 0)
			value = (struct any){ .kind = ANY_INT, .integer = number_of(text) };
		attributes[count++] = (struct keyvalue){ key, value };
	}
	return profile_add_scope(w->p, profile_add_resource(w->p, attributes, count));
}

static struct profile_set *add_set(struct builder *w, struct profile_scope *scope, u32 series)
{
	struct profile_set *set = scope ? profile_add_set(w->p, scope) : NULL;
	struct str type = label_of(w, series, STORE_TYPE), unit = label_of(w, series, STORE_UNIT);
	const struct kind *kind = kind_of(type, STR(""));

	if (!set)
		return NULL;
	profile_set_describe(w->p, set, kind && kind->period.type ? kind : kind_list[KIND_CPU], 0);
	set->sample_type.type = profile_add_string(w->p, type.at, type.len);
	set->sample_type.unit = profile_add_string(w->p, unit.at, unit.len);
	set->time_unix_ns = w->tree->from_ns;
	set->duration_ns = w->tree->to_ns - w->tree->from_ns;
	set->period = number_of(label_of(w, series, STORE_PERIOD));
	if (w->options->unit.len)
		set->sample_type.unit = profile_add_string(w->p, w->options->unit.at, w->options->unit.len);
	if (set->period <= 0 || w->options->unit.len) {
		set->period = 0;
		set->period_type = (struct profile_type){ 0 };
	}
	return set;
}

/* Rows that are one sample. */
static u32 same_sample(const struct built_row *rows, u32 count)
{
	u32 n = 1;

	while (n < count && !compare_samples(rows, &rows[n]))
		n++;
	return n;
}

static int add_samples(struct builder *w)
{
	const struct built_row *rows = w->b->rows;
	struct profile_scope *scope = NULL;
	struct profile_set *set = NULL;

	for (u32 i = 0, n = 0; i < w->b->count && !profile_err(w->p); i += n) {
		if (!i || rows[i].resource != rows[i - 1].resource)
			scope = add_resource(w, rows[i].resource);
		if (!i || rows[i].series != rows[i - 1].series || !rows[i].time_ns != !rows[i - 1].time_ns)
			set = add_set(w, scope, rows[i].series);
		n = same_sample(&rows[i], w->b->count - i);
		if (set)
			add_sample(w, set, &rows[i], n);
		if (budget_check() < 0)
			return -ECANCELED;
	}
	return profile_err(w->p);
}

int profile_build_finish(struct profile_build *b, const struct calltree *tree,
			 const struct profile_build_options *options, struct profile **ret_profile)
{
	_cleanup_(freep) u32 *locations = array_calloc((size_t)tree->nodes.count + 1, sizeof(*locations));
	struct builder w = { b, b->profile, tree, options, locations };
	int r;

	if (!locations)
		return -ENOMEM;
	for (u32 i = 0; i < b->count; i++)
		b->rows[i].epoch = 0;
	r = b->is_summed ? fold(b) : 0;
	if (r == -E2BIG)
		r = 0;
	qsort(b->rows, b->count, sizeof(*b->rows), compare_rows);
	if (r == 0)
		r = add_samples(&w);
	/* Without labels that became other things, and owners of rows that the tree has left out. */
	return r < 0 ? r : split_copy(b->profile, ret_profile);
}
