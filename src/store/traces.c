// SPDX-License-Identifier: Apache-2.0
/* Which traces and spans were sampled. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hex.h"
#include "base/interner.h"
#include "profile/any.h"
#include "store/scan.h"

#define TRACES_MAX (1u << 16)
#define SPANS_MAX (1u << 18)
#define ARENA_BYTES_MAX ((size_t)64 << 20)

struct traces_query {
	bool by_span;
	struct arena arena;
	struct interner keys;		/* a trace's id; by_span: with a span's behind it */
	struct interner spans;		/* of traces: which were counted */
	struct store_trace *at;		/* by number of the key */
	u32 cap;
	u64 left_out;
};

static void traces_query_done(struct traces_query *q)
{
	for (u32 i = 0; i < q->cap; i++)
		store_trace_done(&q->at[i]);
	free(q->at);
	interner_done(&q->keys);
	interner_done(&q->spans);
	arena_done(&q->arena);
}

static char *copy_label(const struct scan_row *row, enum store_label label)
{
	char scratch[SCAN_LABEL_BYTES];
	struct str text = scan_label(row, label, scratch);

	return strndup(text.len ? text.at : "", text.len);
}

static int describe(const struct traces_query *q, const struct scan_row *row, struct store_trace *trace)
{
	const struct block_link *link = block_link(row->rows, row->row->link);

	hex_write(link->trace_id, sizeof(link->trace_id), trace->trace);
	if (q->by_span)
		hex_write(link->span_id, sizeof(link->span_id), trace->span);
	trace->first_ns = UINT64_MAX;
	trace->host = copy_label(row, STORE_HOST);
	trace->service = copy_label(row, STORE_SERVICE);
	trace->process = copy_label(row, STORE_PROCESS);
	return trace->host && trace->service && trace->process ? 0 : -ENOMEM;
}

/* The trace or span of a row, added if it is new; NULL past the limit. -ENOMEM. */
static int trace_of(struct traces_query *q, const struct scan_row *row, struct store_trace **ret_trace)
{
	const struct block_link *link = block_link(row->rows, row->row->link);
	size_t len = q->by_span ? sizeof(*link) : sizeof(link->trace_id);
	bool is_new = false;
	u32 number = interner_add(&q->keys, link, len, &is_new);

	*ret_trace = NULL;
	if (number == INTERNER_NONE)
		return q->keys.count == q->keys.max_count ? 0 : -ENOMEM;
	if (array_reserve(&q->at, &q->cap, number + 1, sizeof(*q->at)) < 0)
		return -ENOMEM;
	*ret_trace = &q->at[number];
	return is_new ? describe(q, row, &q->at[number]) : 0;
}

static void count_span(struct traces_query *q, const struct block_link *link, struct store_trace *trace)
{
	bool is_new = false;

	if (q->by_span)
		is_new = !trace->samples;
	else
		(void)interner_add(&q->spans, link, sizeof(*link), &is_new);
	trace->spans += is_new;
}

static int count_link(void *arg, const struct scan_row *row)
{
	struct traces_query *q = arg;
	struct store_trace *trace;
	int r;

	if (!row->row->link)
		return 0;
	r = trace_of(q, row, &trace);
	if (r < 0)
		return r;
	if (!trace) {
		q->left_out++;
		return 0;
	}
	count_span(q, block_link(row->rows, row->row->link), trace);
	trace->samples++;
	if (__builtin_add_overflow(trace->value, row->row->value, &trace->value))
		trace->value = INT64_MAX;
	trace->first_ns = row->time_ns < trace->first_ns ? row->time_ns : trace->first_ns;
	trace->last_ns = row->time_ns > trace->last_ns ? row->time_ns : trace->last_ns;
	return 0;
}

static int compare_traces(const void *a, const void *b)
{
	const struct store_trace *x = a, *y = b;

	if (x->value != y->value)
		return x->value > y->value ? -1 : 1;
	return strcmp(x->trace, y->trace) ? strcmp(x->trace, y->trace) : strcmp(x->span, y->span);
}

int sqlite_traces(struct store *base, const struct store_selection *selection, bool by_span, u32 max,
		  struct store_traces *ret_traces)
{
	struct sqlite_store *store = sqlite_store(base);
	_cleanup_(traces_query_done) struct traces_query q = { .by_span = by_span };
	struct scan_options options = { .columns = BLOCK_VALUE | BLOCK_TIME | BLOCK_LINK };
	u32 count;
	int r;

	arena_init(&q.arena, ARENA_BYTES_MAX);
	interner_init(&q.keys, &q.arena, by_span ? SPANS_MAX : TRACES_MAX);
	interner_init(&q.spans, &q.arena, SPANS_MAX);
	pthread_rwlock_rdlock(&store->lock);
	r = scan(store, selection, &options, count_link, &q, NULL);
	pthread_rwlock_unlock(&store->lock);
	if (r < 0)
		return r;
	count = q.keys.count < q.cap ? q.keys.count : q.cap;
	if (count)
		qsort(q.at, count, sizeof(*q.at), compare_traces);
	while (count > max)
		store_trace_done(&q.at[--count]);
	*ret_traces = (struct store_traces){ .count = count, .left_out = q.left_out, .at = TAKE(q.at) };
	q.cap = 0;
	return 0;
}
