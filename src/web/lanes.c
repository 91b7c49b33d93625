// SPDX-License-Identifier: Apache-2.0
#include "web/lanes.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/json_write.h"
#include "kinds/kind.h"
#include "store/lanes.h"
#include "web/api.h"
#include "web/call.h"
#include "web/question.h"
#include "web/types.h"

#define SECONDS_MAX 900		/* as much is shown of the end of a range */
#define BUCKETS 200
#define BUCKETS_MAX 1000
#define LANES 50
#define LANES_MAX 200
#define QUEUES_TOLD 100

static void put_number(struct json_write *j, const char *key, double value)
{
	json_write_key(j, key);
	json_write_double(j, value);
}

static void put_text(struct json_write *j, const char *key, const char *text)
{
	json_write_key(j, key);
	json_write_text(j, text);
}

/* Types and reasons are what is answered, not what is asked for. */
static struct store_selection without_types(const struct store_selection *selection)
{
	struct store_selection other = { .from_ns = selection->from_ns, .to_ns = selection->to_ns,
					 .keys = selection->keys };

	for (u32 i = 0; i < selection->filter_count; i++) {
		enum store_label label = selection->filters[i].label;

		if (label != STORE_TYPE && label != STORE_UNIT && label != STORE_PERIOD && label != STORE_WAIT)
			other.filters[other.filter_count++] = selection->filters[i];
	}
	return other;
}

/* In a short range nothing may have begun or ended: what is told of it stands around it. */
static int find_types(struct store *store, const struct store_selection *selection, struct types *ret_types)
{
	struct store_selection wide = *selection;

	wide.from_ns = wide.from_ns < LANES_BEYOND_NS ? 0 : wide.from_ns - LANES_BEYOND_NS;
	wide.to_ns = wide.to_ns > UINT64_MAX - LANES_BEYOND_NS ? UINT64_MAX : wide.to_ns + LANES_BEYOND_NS;
	return types_find(store, &wide, ret_types);
}

/* The first type of a kind that is time; NULL if there is none. */
static const char *type_of(const struct types *types, enum kind_number number)
{
	for (u32 i = 0; i < types->count; i++)
		if (types->at[i].rank == number && types->at[i].sum == UNIT_NANOSECONDS)
			return types->at[i].name;
	return NULL;
}

static void choose_types(const struct types *types, struct store_lanes_options *options)
{
	options->types[0] = type_of(types, KIND_LANES);
	options->is_exact = options->types[0];
	if (!options->types[0])
		options->types[0] = type_of(types, KIND_WALL);
	if (options->types[0])
		return;
	options->types[0] = type_of(types, KIND_CPU);
	options->types[1] = type_of(types, KIND_OFF_CPU);
}

static u32 microseconds(double ns)
{
	return ns / 1e3 + 0.5 < UINT32_MAX ? (u32)(ns / 1e3 + 0.5) : UINT32_MAX;
}

static void put_line(struct json_write *j, const struct store_lane *lane, u32 reason, u32 buckets)
{
	json_write_open(j, '{');
	put_text(j, "wait", wait_reason_text(reason));
	put_number(j, "sum", lane->sums[reason] / 1e3);
	json_write_key(j, "values");
	json_write_open(j, '[');
	for (u32 i = 0; i < buckets; i++)
		json_write_u32(j, microseconds(lane->cells[(size_t)i * REASON_COUNT + reason]));
	json_write_close(j, ']');
	json_write_close(j, '}');
}

static void put_lane(struct json_write *j, const struct store_lane *lane, u64 to_ns, u32 buckets)
{
	json_write_open(j, '{');
	put_text(j, "host", lane->host);
	put_text(j, "process", lane->process);
	put_number(j, "pid", *lane->pid ? strtod(lane->pid, NULL) : -1);
	put_text(j, "thread", lane->thread);
	put_number(j, "tid", lane->tid ? lane->tid : -1.0);
	put_number(j, "last", (double)(lane->last_ns ? lane->last_ns : to_ns) / 1e9);
	json_write_key(j, "lines");
	json_write_open(j, '[');
	for (u32 i = 0; i < REASON_COUNT; i++)
		if (lane->sums[i] > 0)
			put_line(j, lane, i, buckets);
	json_write_close(j, ']');
	json_write_close(j, '}');
}

/* ---- How long threads wanted a CPU ------------------------------------------------------------ */

static void put_lengths(struct json_write *j, const struct queue_lengths *lengths)
{
	put_number(j, "waits", (double)lengths->count);
	put_number(j, "sum", (double)lengths->sum_ns / 1e3);
	put_number(j, "median", (double)queue_lengths_percentile(lengths, 50) / 1e3);
	put_number(j, "p99", (double)queue_lengths_percentile(lengths, 99) / 1e3);
	put_number(j, "longest", (double)lengths->longest_ns / 1e3);
}

static int compare_queues(const void *a, const void *b, void *arg)
{
	const struct queue_lengths *groups = arg, *x = &groups[*(const u32 *)a], *y = &groups[*(const u32 *)b];

	if (x->sum_ns != y->sum_ns)
		return x->sum_ns > y->sum_ns ? -1 : 1;
	return *(const u32 *)a < *(const u32 *)b ? -1 : 1;
}

/* Those that waited for longest first. -ENOMEM. */
static int put_groups(struct json_write *j, const struct store_lanes *lanes)
{
	u32 count = lanes->queue.group_count;
	_cleanup_(freep) u32 *order = array_calloc((size_t)count + 1, sizeof(*order));

	if (!order)
		return -ENOMEM;
	for (u32 i = 0; i < count; i++)
		order[i] = i;
	qsort_r(order, count, sizeof(*order), compare_queues, lanes->queue.groups);
	json_write_key(j, "groups");
	json_write_open(j, '[');
	for (u32 i = 0; i < count && i < QUEUES_TOLD; i++) {
		json_write_open(j, '{');
		put_text(j, "name", lanes->queue_names[order[i]]);
		put_lengths(j, &lanes->queue.groups[order[i]]);
		json_write_close(j, '}');
	}
	json_write_close(j, ']');
	return 0;
}

static int put_queue(struct json_write *j, const struct store_lanes *lanes, const char *by)
{
	const struct queue_waits *queue = &lanes->queue;
	int r;

	json_write_key(j, "queue");
	json_write_open(j, '{');
	put_text(j, "by", by);
	put_number(j, "rows", QUEUE_ROWS);
	put_lengths(j, &queue->all);
	json_write_key(j, "cells");
	json_write_open(j, '[');
	for (u32 i = 0; i < queue->columns * QUEUE_ROWS; i++)
		json_write_u32(j, queue->cells[i]);
	json_write_close(j, ']');
	r = put_groups(j, lanes);
	json_write_close(j, '}');
	return r;
}

static int put_lanes(const struct api_call *c, const struct store_lanes *lanes,
		     const struct store_lanes_options *options, const struct store_selection *selection)
{
	struct json_write j = { .b = c->answer->body };
	int r = 0;

	json_write_open(&j, '{');
	put_number(&j, "from", (double)selection->from_ns / 1e9);
	put_number(&j, "to", (double)selection->to_ns / 1e9);
	put_number(&j, "buckets", options->buckets);
	json_write_key(&j, "source");
	json_write_open(&j, '[');
	for (u32 i = 0; i < LANES_TYPES; i++)
		if (options->types[i])
			json_write_text(&j, options->types[i]);
	json_write_close(&j, ']');
	json_write_key(&j, "exact");
	json_write_bool(&j, options->is_exact);
	put_number(&j, "threads", lanes->threads);
	put_number(&j, "left_out", (double)lanes->lost);
	json_write_key(&j, "lanes");
	json_write_open(&j, '[');
	for (u32 i = 0; i < lanes->count; i++)
		put_lane(&j, &lanes->at[i], selection->to_ns, options->buckets);
	json_write_close(&j, ']');
	if (lanes->queue.columns)
		r = put_queue(&j, lanes, question_label_name(c->question, "queue", options->queue_by));
	json_write_close(&j, '}');
	return r < 0 ? r : buf_err(c->answer->body);
}

int lanes_answer(struct api_call *c)
{
	struct store_selection selection = without_types(&c->question->selection);
	struct store_lanes_options options = { .buckets = BUCKETS, .lanes_max = LANES };
	_cleanup_(types_done) struct types types = { 0 };
	struct store_lanes lanes = { 0 };
	int r = question_number(c->question, "buckets", 1, BUCKETS_MAX, &options.buckets, c->why);

	if (r == 0)
		r = question_number(c->question, "max", 1, LANES_MAX, &options.lanes_max, c->why);
	if (r == 0)
		r = question_label(c->question, "queue", &options.queue_by, c->why);
	if (r < 0)
		return r;
	if (selection.to_ns - selection.from_ns > SECONDS_MAX * SECOND_NS)
		selection.from_ns = selection.to_ns - SECONDS_MAX * SECOND_NS;
	r = find_types(c->store, &selection, &types);
	if (r < 0)
		return r;
	choose_types(&types, &options);
	r = store_lanes(c->store, &selection, &options, &lanes);
	if (r == -EOPNOTSUPP) {
		buf_addf(c->why, "this store has sums only, without threads over time");
		return -EINVAL;
	}
	if (r == 0)
		r = put_lanes(c, &lanes, &options, &selection);
	store_lanes_done(&lanes);
	return r;
}
