// SPDX-License-Identifier: Apache-2.0
#include "store/lanes.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/lane_grid.h"
#include "base/array.h"
#include "base/budget.h"
#include "base/interner.h"
#include "base/saturate.h"
#include "kinds/unit.h"
#include "store/scan.h"

#define ARENA_BYTES_MAX ((size_t)64 << 20)
#define TEXTS_MAX (1u << 22)	/* more than there are threads */
#define SERIES_UNKNOWN UINT32_MAX

/* Who it is: two hosts may have processes of one number, and two threads one name. */
struct lane_key {
	u32 host, pid;		/* texts */
	u32 tid, name;		/* name: 0 where there is a tid, which outlives names */
};

/* What all rows of a series have in common. */
struct lane_series {
	u32 epoch, series;
	s64 unit_ns;		/* what a value of 1 is; 0: it is no time, or another type */
	enum wait_reason reason;
	struct lane_key key;
};

struct lanes_query {
	const struct store_lanes_options *options;
	const struct store_selection *selection;
	struct arena arena;
	struct interner texts, keys, groups;
	struct lane_series last;
	struct store_lane *lanes;	/* by number of the key */
	u32 lane_cap;
	struct lane_moment *moments;
	u32 count, cap;
	u64 lost;
};

static void lanes_query_done(struct lanes_query *q)
{
	struct store_lanes lanes = { .count = q->lane_cap, .at = q->lanes };

	store_lanes_done(&lanes);
	interner_done(&q->texts);
	interner_done(&q->keys);
	interner_done(&q->groups);
	arena_done(&q->arena);
	free(q->moments);
}

/* ---- Gathering ---------------------------------------------------------------------------- */

static struct str series_label(const struct scan_row *row, enum store_label label)
{
	return dict_string(row->dict, dict_series(row->dict, row->row->series)->label[label]);
}

static s64 unit_ns(const struct store_lanes_options *options, const struct scan_row *row)
{
	struct str type = series_label(row, STORE_TYPE), period = series_label(row, STORE_PERIOD);
	struct unit_scale scale = unit_scale(series_label(row, STORE_UNIT));
	bool is_asked = false;
	s64 period_ns = 0;

	for (u32 i = 0; i < LANES_TYPES; i++)
		is_asked |= options->types[i] && str_is(type, options->types[i]);
	if (!is_asked || scale.unit == UNIT_NANOSECONDS)
		return is_asked ? scale.factor : 0;
	for (u32 i = 0; i < period.len && period_ns < INT64_MAX / 20; i++)
		period_ns = period_ns * 10 + (period.at[i] - '0');
	return scale.unit == UNIT_COUNT ? period_ns : 0;
}

static int read_series(struct lanes_query *q, const struct scan_row *row)
{
	struct str host = series_label(row, STORE_HOST), pid = series_label(row, STORE_PID);
	struct lane_series series = { .epoch = row->epoch_index, .series = row->row->series,
				      .unit_ns = unit_ns(q->options, row),
				      .reason = wait_reason_named(series_label(row, STORE_WAIT)) };

	series.key.host = interner_add(&q->texts, host.at, host.len, NULL);
	series.key.pid = interner_add(&q->texts, pid.at, pid.len, NULL);
	if (series.key.host == INTERNER_NONE || series.key.pid == INTERNER_NONE)
		return -ENOMEM;
	q->last = series;
	return 0;
}

static char *copy_text(struct str text)
{
	return strndup(text.len ? text.at : "", text.len);
}

static int describe(struct store_lane *lane, const struct scan_row *row, const struct block_thread *thread)
{
	lane->host = copy_text(series_label(row, STORE_HOST));
	lane->process = copy_text(series_label(row, STORE_PROCESS));
	lane->pid = copy_text(series_label(row, STORE_PID));
	lane->thread = copy_text(dict_string(row->dict, thread->name));
	lane->tid = thread->tid;
	return lane->host && lane->process && lane->pid && lane->thread ? 0 : -ENOMEM;
}

/* The number of the row's thread; INTERNER_NONE past the limit. -ENOMEM. */
static int lane_of(struct lanes_query *q, const struct scan_row *row, u32 *ret_lane)
{
	struct block_thread thread = { 0 };
	struct lane_key key = q->last.key;
	bool is_new = false;
	struct str name;
	int r;

	if (row->row->thread)
		thread = *block_thread(row->rows, row->row->thread);
	name = dict_string(row->dict, thread.name);
	key.tid = thread.tid;
	key.name = thread.tid ? 0 : interner_add(&q->texts, name.at, name.len, NULL);
	*ret_lane = interner_add(&q->keys, &key, sizeof(key), &is_new);
	if (*ret_lane == INTERNER_NONE)
		return q->keys.count == q->keys.max_count ? 0 : -ENOMEM;
	r = array_reserve(&q->lanes, &q->lane_cap, *ret_lane + 1, sizeof(*q->lanes));
	if (r == 0 && is_new) {
		q->lanes[*ret_lane].number = *ret_lane;
		r = describe(&q->lanes[*ret_lane], row, &thread);
	}
	return r;
}

static bool is_queue_asked(const struct lanes_query *q)
{
	return q->options->is_exact && q->options->queue_by != STORE_LABEL_COUNT;
}

/* Whose wait for a CPU it is; LANE_NO_GROUP past the limit. */
static u32 group_of(struct lanes_query *q, const struct scan_row *row)
{
	char scratch[SCAN_LABEL_BYTES];
	struct str text;
	u32 group;

	if (q->last.reason != REASON_RUN_QUEUE || !is_queue_asked(q))
		return LANE_NO_GROUP;
	text = scan_label(row, q->options->queue_by, scratch);
	group = interner_add(&q->groups, text.at, text.len, NULL);
	return group == INTERNER_NONE ? LANE_NO_GROUP : group;
}

static int add_moment(void *arg, const struct scan_row *row)
{
	struct lanes_query *q = arg;
	struct lane_moment moment = { .at_ns = row->row->time_ns };
	int r = 0;

	if (q->last.epoch != row->epoch_index || q->last.series != row->row->series)
		r = read_series(q, row);
	if (r < 0 || !q->last.unit_ns || row->row->value <= 0 || !row->row->time_ns)
		return r;
	r = lane_of(q, row, &moment.lane);
	if (r < 0)
		return r;
	if (moment.lane == INTERNER_NONE) {
		q->lost++;
		return 0;
	}
	moment.length_ns = (u64)saturating_multiply(row->row->value, q->last.unit_ns);
	moment.reason = q->last.reason;
	moment.group = group_of(q, row);
	r = array_grow(&q->moments, &q->cap, q->count, LANES_MOMENTS_MAX, sizeof(*q->moments));
	if (r == 0)
		q->moments[q->count++] = moment;
	return r;
}

/* ---- Adding up ---------------------------------------------------------------------------- */

static int compare_moments(const void *a, const void *b)
{
	const struct lane_moment *x = a, *y = b;

	if (x->lane != y->lane)
		return x->lane < y->lane ? -1 : 1;
	/* A CPU was wanted after all else that ended then. */
	if (x->at_ns == y->at_ns)
		return (y->reason == REASON_RUN_QUEUE) - (x->reason == REASON_RUN_QUEUE);
	return x->at_ns > y->at_ns ? -1 : 1;
}

static double wanted_cpu(const struct store_lane *lane)
{
	return lane->sums[REASON_NONE] + lane->sums[REASON_RUN_QUEUE] + lane->sums[REASON_THROTTLED];
}

static int compare_lanes(const void *a, const void *b)
{
	const struct store_lane *x = a, *y = b;
	double left = wanted_cpu(x), right = wanted_cpu(y);

	if (left != right)
		return left > right ? -1 : 1;
	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	return x->number != y->number ? (x->number < y->number ? -1 : 1) : 0;
}

typedef int take_fn(struct store_lane *lane, const struct lane_grid *grid);

/* One bucket is enough to know who did most. */
static int take_sums(struct store_lane *lane, const struct lane_grid *grid)
{
	memcpy(lane->sums, grid->cells, sizeof(lane->sums));
	for (u32 i = 0; i < REASON_COUNT; i++)
		lane->total += lane->sums[i];
	return 0;
}

static int take_cells(struct store_lane *lane, const struct lane_grid *grid)
{
	size_t cells = (size_t)grid->count * REASON_COUNT;

	lane->last_ns = grid->last_ns;
	lane->cells = array_calloc(cells, sizeof(*lane->cells));
	if (!lane->cells)
		return -ENOMEM;
	memcpy(lane->cells, grid->cells, cells * sizeof(*lane->cells));
	return 0;
}

/* least: the last lane that is wanted; NULL: all of them are. */
static int fill_lanes(struct lanes_query *q, u32 buckets, const struct store_lane *least, take_fn *take)
{
	const struct store_selection *selection = q->selection;
	_cleanup_(lane_grid_done) struct lane_grid grid = { 0 };
	int r = lane_grid_init(&grid, selection->from_ns, selection->to_ns, buckets);

	grid.is_exact = q->options->is_exact;
	for (u32 i = 0, end; i < q->count && r == 0; i = end) {
		struct store_lane *lane = &q->lanes[q->moments[i].lane];

		for (end = i; end < q->count && q->moments[end].lane == q->moments[i].lane;)
			end++;
		if (least && compare_lanes(lane, least) > 0)
			continue;
		lane_grid_fill(&grid, &q->moments[i], end - i);
		r = take(lane, &grid);
		if (r == 0)
			r = budget_check();
	}
	return r;
}

/* The last one of those that are shown; how many have anything in the range. */
static int find_least(struct lanes_query *q, struct store_lane *ret_least, u32 *ret_seen)
{
	u32 count = q->keys.count, max = q->options->lanes_max, seen = 0;
	_cleanup_(freep) struct store_lane *ordered = array_calloc((size_t)count + 1, sizeof(*ordered));

	if (!ordered)
		return -ENOMEM;
	if (count)
		memcpy(ordered, q->lanes, count * sizeof(*ordered));
	qsort(ordered, count, sizeof(*ordered), compare_lanes);
	while (seen < count && ordered[seen].total > 0)
		seen++;
	if (seen)
		*ret_least = ordered[max < seen ? max - 1 : seen - 1];
	*ret_seen = seen;
	return 0;
}

static int name_groups(const struct lanes_query *q, struct store_lanes *lanes)
{
	lanes->queue_names = array_calloc((size_t)q->groups.count + 1, sizeof(*lanes->queue_names));
	for (u32 i = 0; lanes->queue_names && i < q->groups.count; i++) {
		const struct interner_entry *name = interner_get(&q->groups, i);

		lanes->queue_names[i] = strndup(name->len ? name->at : "", name->len);
		if (!lanes->queue_names[i])
			return -ENOMEM;
	}
	return lanes->queue_names ? 0 : -ENOMEM;
}

static int count_queue(const struct lanes_query *q, struct store_lanes *lanes)
{
	const struct store_selection *selection = q->selection;
	int r;

	if (!is_queue_asked(q))
		return 0;
	r = queue_waits_init(&lanes->queue, q->options->buckets, q->groups.count);
	for (u32 i = 0, end; i < q->count && r == 0; i = end) {
		for (end = i; end < q->count && q->moments[end].lane == q->moments[i].lane;)
			end++;
		queue_waits_add(&lanes->queue, selection->from_ns, selection->to_ns, &q->moments[i], end - i);
		r = budget_check();
	}
	return r < 0 ? r : name_groups(q, lanes);
}

static int add_up(struct lanes_query *q, struct store_lanes *lanes)
{
	struct store_lane least;
	int r;

	if (q->count)
		qsort(q->moments, q->count, sizeof(*q->moments), compare_moments);
	r = fill_lanes(q, 1, NULL, take_sums);
	if (r == 0)
		r = find_least(q, &least, &lanes->threads);
	lanes->lost = q->lost;
	if (r == 0)
		r = count_queue(q, lanes);
	return r < 0 || !lanes->threads ? r : fill_lanes(q, q->options->buckets, &least, take_cells);
}

/* Lanes that have buckets are the answer's; the others stay behind. */
static int take_shown(struct lanes_query *q, struct store_lanes *lanes)
{
	u32 max = q->options->lanes_max;

	lanes->at = array_calloc((size_t)max + 1, sizeof(*lanes->at));
	if (!lanes->at)
		return -ENOMEM;
	for (u32 i = 0; i < q->keys.count && lanes->count < max; i++) {
		if (!q->lanes[i].cells)
			continue;
		lanes->at[lanes->count++] = q->lanes[i];
		q->lanes[i] = (struct store_lane){ 0 };
	}
	qsort(lanes->at, lanes->count, sizeof(*lanes->at), compare_lanes);
	return 0;
}

/* ---- The question ------------------------------------------------------------------------- */

/* What tells of the range: waits are told of when they are over, parts of lanes begin before it. */
static struct store_selection around(const struct store_selection *selection, bool is_exact)
{
	struct store_selection wide = *selection;

	wide.narrow = NULL;
	if (is_exact)
		wide.from_ns = wide.from_ns < LANES_BEYOND_NS ? 0 : wide.from_ns - LANES_BEYOND_NS;
	else
		wide.to_ns = wide.to_ns > UINT64_MAX - LANES_BEYOND_NS ? UINT64_MAX : wide.to_ns + LANES_BEYOND_NS;
	return wide;
}

int sqlite_lanes(struct store *base, const struct store_selection *selection, const struct store_lanes_options *options,
		 struct store_lanes *ret_lanes)
{
	_cleanup_(lanes_query_done) struct lanes_query q = { .options = options, .selection = selection,
							     .last = { .epoch = SERIES_UNKNOWN } };
	struct store_selection wide = around(selection, options->is_exact);
	struct scan_options columns = { .columns = BLOCK_VALUE | BLOCK_TIME | BLOCK_THREAD };
	struct sqlite_store *store = sqlite_store(base);
	struct store_lanes lanes = { 0 };
	int r;

	arena_init(&q.arena, ARENA_BYTES_MAX);
	interner_init(&q.texts, &q.arena, TEXTS_MAX);
	interner_init(&q.keys, &q.arena, LANES_THREADS_MAX);
	interner_init(&q.groups, &q.arena, LANES_GROUPS_MAX);
	if (is_queue_asked(&q))
		columns.columns |= scan_label_column(options->queue_by);
	pthread_rwlock_rdlock(&store->lock);
	r = scan(store, &wide, &columns, add_moment, &q, NULL);
	pthread_rwlock_unlock(&store->lock);
	if (r == 0)
		r = add_up(&q, &lanes);
	if (r == 0)
		r = take_shown(&q, &lanes);
	if (r == 0)
		*ret_lanes = lanes;
	else
		store_lanes_done(&lanes);
	return r;
}
