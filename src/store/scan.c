// SPDX-License-Identifier: Apache-2.0
#include "store/scan.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/budget.h"
#include "base/buf.h"
#include "base/hex.h"

/* ---- The plan ------------------------------------------------------------------------- */

void scan_plan_done(struct scan_plan *plan)
{
	free(plan->parts);
	*plan = (struct scan_plan){ 0 };
}

static int plan_add(struct scan_plan *plan, u32 level, u64 from_ns, u64 to_ns)
{
	struct scan_part *last = plan->count ? &plan->parts[plan->count - 1] : NULL;

	if (last && last->level == level && last->to_ns == from_ns) {
		last->to_ns = to_ns;
		return 0;
	}
	if (array_reserve(&plan->parts, &plan->cap, plan->count + 1, sizeof(*plan->parts)) < 0)
		return -ENOMEM;
	plan->parts[plan->count++] = (struct scan_part){ level, from_ns, to_ns };
	return 0;
}

/* The longest period that begins here, ends in time, and is rolled up; 0 if none. */
static u32 whole_period(const struct scan_reach *reach, u64 at_ns, u64 to_ns, u64 period_max_ns)
{
	for (u32 level = DB_LEVELS; level-- > 1;) {
		u64 period = store_period_ns[level];

		if (period <= period_max_ns && at_ns % period == 0 && at_ns + period <= to_ns &&
		    at_ns + period <= reach->rolled_ns[level] && at_ns >= reach->first_ns[level])
			return level;
	}
	return 0;
}

/*
 * Does a roll-up go further back than blocks do? One that begins in the period of the first block does not: that has
 * gone nowhere, the store is as young. (Blocks of a period go before any roll-up within it does: store/maintain.c.)
 */
static bool are_blocks_gone(const struct scan_reach *reach)
{
	for (u32 level = 1; level < DB_LEVELS; level++)
		if (reach->first_ns[level] < period_start(reach->first_ns[0], level))
			return true;
	return false;
}

/* Where blocks are gone: the finest level that still reaches there; 0 if none does. */
static u32 coarse_period(const struct scan_reach *reach, u64 at_ns, u64 period_max_ns)
{
	if (at_ns >= period_start(reach->first_ns[0], 0) || !period_max_ns || !are_blocks_gone(reach))
		return 0;
	for (u32 level = 1; level < DB_LEVELS; level++)
		if (reach->first_ns[level] != UINT64_MAX && period_start(at_ns, level) >= reach->first_ns[level] &&
		    period_start(at_ns, level) + store_period_ns[level] <= reach->rolled_ns[level])
			return level;
	return 0;
}

static int plan_step(const struct scan_reach *reach, u64 *at_ns, u64 to_ns, u64 period_max_ns, struct scan_plan *plan)
{
	u32 level = whole_period(reach, *at_ns, to_ns, period_max_ns);
	u64 from_ns = *at_ns, end_ns;

	if (!level) {
		level = coarse_period(reach, *at_ns, period_max_ns);
		if (level) {
			from_ns = period_start(*at_ns, level);
			plan->is_coarse = true;
		}
	}
	end_ns = period_start(*at_ns, level) + store_period_ns[level];
	*at_ns = end_ns;
	if (!level && end_ns > to_ns)
		end_ns = to_ns;
	if (from_ns < plan->from_ns)
		plan->from_ns = from_ns;
	if (end_ns > plan->to_ns)
		plan->to_ns = end_ns;
	return plan_add(plan, level, from_ns, end_ns);
}

int scan_plan(const struct scan_reach *reach, u64 from_ns, u64 to_ns, u64 period_max_ns, struct scan_plan *ret_plan)
{
	struct scan_plan plan = { .from_ns = from_ns, .to_ns = to_ns };
	u64 first_ns = UINT64_MAX, at_ns = from_ns;
	int r = 0;

	for (u32 i = 0; i < DB_LEVELS; i++)
		first_ns = reach->first_ns[i] < first_ns ? reach->first_ns[i] : first_ns;
	/* A range from 1970 on has no more steps than there are periods with something in them. */
	if (first_ns != UINT64_MAX && at_ns < period_start(first_ns, DB_LEVELS - 1))
		at_ns = period_start(first_ns, DB_LEVELS - 1);
	while (first_ns != UINT64_MAX && at_ns < to_ns && r == 0)
		r = plan_step(reach, &at_ns, to_ns, period_max_ns, &plan);
	if (r < 0)
		scan_plan_done(&plan);
	else
		*ret_plan = plan;
	return r;
}

/* ---- Filters ---------------------------------------------------------------------------- */

bool scan_matches(const struct store_filter *filter, struct str text)
{
	size_t len = strlen(filter->value);
	bool equal = text.len == len && !memcmp(text.at, filter->value, len);

	switch (filter->match) {
	case STORE_EQUAL:
		return equal;
	case STORE_NOT_EQUAL:
		return !equal;
	case STORE_CONTAINS:
		return !len || (text.len && memmem(text.at, text.len, filter->value, len));
	}
	return false;
}

static bool is_row_label(enum store_label label)
{
	return label >= STORE_SERIES_LABEL_COUNT;
}

u32 scan_label_column(enum store_label label)
{
	switch (label) {
	case STORE_THREAD:
	case STORE_TID:
		return BLOCK_THREAD;
	case STORE_CPU:
		return BLOCK_CPU;
	case STORE_TRACE:
	case STORE_SPAN:
		return BLOCK_LINK;
	default:
		return label >= STORE_KEYS ? BLOCK_LABELS : 0;
	}
}

u32 scan_bucket(const struct store_selection *selection, u32 buckets, u64 time_ns)
{
	u64 at_ns = time_ns > selection->from_ns ? time_ns - selection->from_ns : 0;
	u64 bucket = (u64)((__uint128_t)at_ns * buckets / (selection->to_ns - selection->from_ns));

	return bucket < buckets ? (u32)bucket : buckets - 1;
}

static bool series_matches(const struct dict *dict, const struct dict_series *series,
			   const struct store_selection *selection)
{
	for (u32 i = 0; i < selection->filter_count; i++) {
		const struct store_filter *filter = &selection->filters[i];

		if (!is_row_label(filter->label) &&
		    !scan_matches(filter, dict_string(dict, series->label[filter->label])))
			return false;
	}
	return true;
}

struct str scan_label(const struct scan_row *row, enum store_label label, char scratch[SCAN_LABEL_BYTES])
{
	struct block_thread thread = { 0 };
	const u8 *id = NULL;
	u32 bytes = 0;
	int len = 0;

	if (!is_row_label(label))
		return dict_string(row->dict, dict_series(row->dict, row->row->series)->label[label]);
	if (label >= STORE_KEY)
		return label_sets_value(&row->rows->labels, row->row->labels, str_of(row->keys->at[label - STORE_KEY]));
	if (row->row->thread)
		thread = *block_thread(row->rows, row->row->thread);
	if (label == STORE_THREAD)
		return dict_string(row->dict, thread.name);
	if (label == STORE_TID && row->row->thread)
		len = snprintf(scratch, SCAN_LABEL_BYTES, "%u", thread.tid);
	if (label == STORE_CPU && row->row->cpu != BLOCK_NO_CPU)
		len = snprintf(scratch, SCAN_LABEL_BYTES, "%u", row->row->cpu - 1);
	if (row->row->link && (label == STORE_TRACE || label == STORE_SPAN)) {
		const struct block_link *link = block_link(row->rows, row->row->link);

		id = label == STORE_TRACE ? link->trace_id : link->span_id;
		bytes = label == STORE_TRACE ? sizeof(link->trace_id) : sizeof(link->span_id);
	}
	if (id) {
		hex_write(id, bytes, scratch);
		len = (int)(2 * bytes);
	}
	return (struct str){ scratch, (u32)len };
}

static bool row_matches(const struct scan_row *row, const struct store_selection *selection)
{
	char scratch[SCAN_LABEL_BYTES];

	for (u32 i = 0; i < selection->filter_count; i++) {
		const struct store_filter *filter = &selection->filters[i];

		if (is_row_label(filter->label) && filter->label < STORE_KEY &&
		    !scan_matches(filter, scan_label(row, filter->label, scratch)))
			return false;
	}
	return true;
}

static bool labels_match(const struct scan_row *row, const struct store_selection *selection)
{
	for (u32 i = 0; i < selection->filter_count; i++) {
		const struct store_filter *filter = &selection->filters[i];

		if (filter->label >= STORE_KEY && !scan_matches(filter, scan_label(row, filter->label, NULL)))
			return false;
	}
	return true;
}

/* ---- The scan ----------------------------------------------------------------------------- */

struct scanner {
	struct sqlite_store *store;
	struct db *db;
	const struct store_selection *selection;
	const struct scan_part *part;
	const struct scan_options *options;
	u32 columns;		/* those of the options, and what filters look at */
	bool row_filters, label_filters;
	struct block_rows rows;	/* of the block that is read */
	scan_fn *fn;
	void *arg;
	struct epoch *epoch;	/* whose dictionary is held, or NULL */
	const struct dict *dict;
	u64 blocks;		/* that were read */
	u8 **wanted;		/* by epoch and series: does it match? NULL until the epoch is met */
};

static void scanner_done(struct scanner *s)
{
	for (u32 i = 0; s->wanted && i < s->store->epoch_count; i++)
		free(s->wanted[i]);
	free(s->wanted);
	if (s->epoch)
		dicts_put(s->store, s->epoch);
	db_close(s->db);
	block_rows_done(&s->rows);
}

/* Filters on series are decided once for each of them. */
static const u8 *wanted_series(struct scanner *s, u32 epoch_index)
{
	const struct dict *dict = s->dict;
	u8 *wanted = s->wanted[epoch_index];

	if (wanted)
		return wanted;
	wanted = malloc((size_t)dict->series.count + 1);
	for (u32 i = 0; wanted && i < dict->series.count; i++)
		wanted[i] = series_matches(dict, dict_series(dict, i), s->selection);
	s->wanted[epoch_index] = wanted;
	return wanted;
}

static int scan_rows(struct scanner *s, u32 epoch_index, const struct db_block *block, bool check_times)
{
	const u8 *wanted = wanted_series(s, epoch_index);
	struct scan_row at = { .epoch_index = epoch_index,
			       .dict = s->dict,
			       .rows = &s->rows,
			       .keys = s->selection->keys,
			       .period_ns = block->level ? store_period_ns[block->level] : 0,
			       .block = ++s->blocks,
			       .is_instant = !block->level && block->start_ns == block->end_ns };
	u32 labels = UINT32_MAX;
	bool has_labels = true;
	int r = 0;

	if (!wanted)
		return -ENOMEM;
	for (u32 i = 0; i < s->rows.count && r == 0; i++) {
		at.row = &s->rows.rows[i];
		at.time_ns = at.row->time_ns ? at.row->time_ns : block->start_ns;
		/* Rows of a set stand together. */
		if (s->label_filters && at.row->labels != labels) {
			labels = at.row->labels;
			has_labels = labels_match(&at, s->selection);
		}
		if (!wanted[at.row->series] || !has_labels ||
		    (check_times && (at.time_ns < s->part->from_ns || at.time_ns >= s->part->to_ns)) ||
		    (s->row_filters && !row_matches(&at, s->selection)))
			continue;
		r = s->fn(s->arg, &at);
	}
	return r;
}

/* Do the times of its rows matter? */
static bool is_cut(const struct scanner *s, const struct db_block *block)
{
	u32 buckets = s->options->buckets;

	return block->level == 0 && buckets &&
	       scan_bucket(s->selection, buckets, block->start_ns - s->options->slack_ns) !=
		       scan_bucket(s->selection, buckets, block->end_ns);
}

/* Blocks come in the order of time, and so do epochs, mostly. */
static int hold_dict(struct scanner *s, struct epoch *epoch)
{
	int r;

	if (!epoch)
		return -EBADMSG;
	if (s->epoch == epoch)
		return 0;
	if (s->epoch)
		dicts_put(s->store, TAKE(s->epoch));
	r = dicts_get(s->store, s->db, epoch, &s->dict);
	if (r == -ENOMEM && s->options->make_room) {
		r = s->options->make_room(s->arg);
		if (r == 0)
			r = dicts_get(s->store, s->db, epoch, &s->dict);
	}
	if (r == 0)
		s->epoch = epoch;
	return r;
}

static int scan_block(void *arg, struct db_block *block)
{
	struct scanner *s = arg;
	struct epoch *epoch = store_epoch(s->store, block->epoch);
	bool check_times = block->level == 0 && (block->start_ns < s->part->from_ns || block->end_ns >= s->part->to_ns);
	u32 columns = s->columns;
	int r;

	r = budget_check();
	if (r < 0 || (block->level == 0 && block->end_ns < s->part->from_ns))
		return r;
	if (s->options->block)
		s->options->block(s->arg, block->start_ns,
				  block->level ? block->start_ns + store_period_ns[block->level] : block->end_ns);
	if (check_times || is_cut(s, block))
		columns |= BLOCK_VALUE | BLOCK_TIME;
	if (columns & BLOCK_DETAILS)
		db_read_details(s->db, block);
	r = hold_dict(s, epoch);
	if (r == 0)
		r = block_unpack(&(struct block_bytes){ block->data, block->details, block->data_bytes,
							block->detail_bytes },
				 s->dict, columns, &s->rows);
	if (r == -EBADMSG) {
		atomic_fetch_add(&s->store->blocks_broken, 1);
		return 0;
	}
	return r < 0 ? r : scan_rows(s, (u32)(epoch - s->store->epochs), block, check_times);
}

static int read_reach(struct sqlite_store *store, struct db *db, struct scan_reach *reach)
{
	for (u32 i = 0; i < DB_LEVELS; i++) {
		int r = db_first(db, i, &reach->first_ns[i]);

		if (r < 0)
			return r;
		reach->rolled_ns[i] = store->rolled_ns[i];
	}
	return 0;
}

static int scan_parts(struct scanner *s, const struct scan_plan *plan)
{
	int r = 0;

	for (u32 i = 0; i < plan->count && r == 0; i++) {
		u64 from_ns = plan->parts[i].from_ns;

		s->part = &plan->parts[i];
		/* A block that began before may reach into it, but not out of its minute. */
		if (s->part->level == 0)
			from_ns = period_start(from_ns, 0);
		r = db_each_block(s->db, s->part->level, from_ns, s->part->to_ns, true, scan_block, s);
	}
	return r;
}

static u32 filter_columns(const struct store_selection *selection)
{
	u32 columns = 0;

	for (u32 i = 0; i < selection->filter_count; i++)
		columns |= scan_label_column(selection->filters[i].label);
	return columns;
}

/* Roll-ups have no details; those of a nanosecond are none, but where blocks are gone any will do. */
static u64 period_max(const struct scanner *s)
{
	if (!(s->columns & BLOCK_DETAILS))
		return s->options->period_max_ns;
	return s->options->or_rollups;
}

static int run(struct scanner *s, struct scan_plan *plan)
{
	_cleanup_(buf_done) struct buf why;
	struct scan_reach reach;
	int r;

	buf_init(&why, 512);
	s->wanted = calloc((size_t)s->store->epoch_count + 1, sizeof(*s->wanted));
	if (!s->wanted)
		return -ENOMEM;
	r = db_open(s->store->path, true, &s->db, &why);
	if (r == 0)
		r = read_reach(s->store, s->db, &reach);
	if (r == 0)
		r = scan_plan(&reach, s->selection->from_ns, s->selection->to_ns, period_max(s), plan);
	return r < 0 ? r : scan_parts(s, plan);
}

int scan(struct sqlite_store *store, const struct store_selection *selection, const struct scan_options *options,
	 scan_fn *fn, void *arg, struct scan_plan *ret_plan)
{
	struct scanner s = { .store = store, .selection = selection, .options = options, .fn = fn, .arg = arg };
	struct scan_plan plan = { 0 };
	int r;

	s.columns = filter_columns(selection);
	s.row_filters = !block_is_sums(s.columns);
	s.label_filters = s.columns & BLOCK_LABELS;
	/* A label of rows leaves no sums, but for their own. */
	s.columns |= options->columns | (s.row_filters ? BLOCK_VALUE : 0);
	block_rows_init(&s.rows);
	r = run(&s, &plan);
	scanner_done(&s);
	if (r == 0 && ret_plan)
		*ret_plan = plan;
	else
		scan_plan_done(&plan);
	return r;
}
