// SPDX-License-Identifier: Apache-2.0
#include "base/metrics.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/lock.h"

#define SOURCES_MAX 64
#define LABELS_BYTES_MAX 1024

struct metric {
	_Atomic int64_t value;
	enum metric_kind kind;
	const char *name, *help;
	char *labels;			/* as rendered: {a="b"}, or "" */
};

struct source {
	metrics_source_fn *render;
	void *arg;
};

struct metrics {
	pthread_mutex_t lock;		/* of all but the metrics' values */
	struct metric **at;
	uint32_t count, cap;
	struct metric spare;		/* given out past the maximum */
	struct metric *dropped;		/* how often; itself one of them */

	pthread_mutex_t source_lock;	/* held while sources are asked: forgetting one waits for it */
	struct source sources[SOURCES_MAX];
	uint32_t source_count;
};

/* One line of a scrape. */
struct sample {
	const char *name, *help;
	enum metric_kind kind;
	uint32_t order;			/* among equal names */
	char *labels;
	double value;
};

struct metrics_out {
	struct sample *at;
	uint32_t count, cap;
	bool failed;
};

static void put_escaped(struct buf *out, const char *text, bool quotes)
{
	for (; *text; text++) {
		if (*text == '\n')
			buf_add(out, "\\n", 2);
		else if (*text == '\\' || (*text == '"' && quotes))
			buf_addf(out, "\\%c", *text);
		else
			buf_add(out, text, 1);
	}
}

/* {a="b",c="d"}; NULL without memory or past the limit. */
static char *render_labels(const struct metric_label *labels, size_t count)
{
	struct buf out;
	bool any = false;

	buf_init(&out, LABELS_BYTES_MAX);
	for (size_t i = 0; i < count && labels[i].key; i++) {
		buf_addf(&out, "%s%s=\"", any ? "," : "{", labels[i].key);
		put_escaped(&out, labels[i].value ? labels[i].value : "", true);
		buf_add(&out, "\"", 1);
		any = true;
	}
	buf_addf(&out, "%s", any ? "}" : "");
	if (buf_err(&out) < 0)
		buf_done(&out);
	return buf_take(&out);
}

static void metric_free(struct metric *metric)
{
	if (!metric)
		return;
	free(metric->labels);
	free(metric);
}
DEFINE_CLEANUP(struct metric *, metric_free)

struct metrics *metrics_new(void)
{
	_cleanup_(metrics_freep) struct metrics *metrics = calloc(1, sizeof(*metrics));

	if (!metrics)
		return NULL;
	pthread_mutex_init(&metrics->lock, NULL);
	pthread_mutex_init(&metrics->source_lock, NULL);
	metrics->dropped = metrics_get(metrics, METRIC_COUNTER, "wick_metrics_dropped",
				       "Times a number about wick itself had no room and is shown nowhere", NULL, 0);
	if (metrics->dropped == &metrics->spare)
		return NULL;
	return TAKE(metrics);
}

void metrics_free(struct metrics *metrics)
{
	if (!metrics)
		return;
	for (uint32_t i = 0; i < metrics->count; i++)
		metric_free(metrics->at[i]);
	free(metrics->at);
	pthread_mutex_destroy(&metrics->lock);
	pthread_mutex_destroy(&metrics->source_lock);
	free(metrics);
}

static struct metric *find(const struct metrics *metrics, const char *name, const char *labels)
{
	for (uint32_t i = 0; i < metrics->count; i++) {
		if (!strcmp(metrics->at[i]->name, name) && !strcmp(metrics->at[i]->labels, labels))
			return metrics->at[i];
	}
	return NULL;
}

static struct metric *add(struct metrics *metrics, enum metric_kind kind, const char *name, const char *help,
			  char *labels)
{
	_cleanup_(metric_freep) struct metric *metric = NULL;

	if (metrics->count == METRICS_MAX ||
	    array_reserve(&metrics->at, &metrics->cap, metrics->count + 1, sizeof(*metrics->at)) < 0)
		return NULL;
	metric = calloc(1, sizeof(*metric));
	if (!metric)
		return NULL;
	metric->kind = kind;
	metric->name = name;
	metric->help = help;
	metric->labels = strdup(labels);
	if (!metric->labels)
		return NULL;
	return metrics->at[metrics->count++] = TAKE(metric);
}

struct metric *metrics_get(struct metrics *metrics, enum metric_kind kind, const char *name, const char *help,
			   const struct metric_label *labels, size_t count)
{
	_cleanup_(freep) char *text = render_labels(labels, count);
	struct metric *metric = NULL;

	pthread_mutex_lock(&metrics->lock);
	if (text)
		metric = find(metrics, name, text);
	if (text && !metric)
		metric = add(metrics, kind, name, help, text);
	pthread_mutex_unlock(&metrics->lock);
	if (metric)
		return metric;
	if (metrics->dropped)
		metric_add(metrics->dropped, 1);
	return &metrics->spare;
}

void metric_add(struct metric *metric, uint64_t n)
{
	atomic_fetch_add_explicit(&metric->value, (int64_t)n, memory_order_relaxed);
}

void metric_set(struct metric *metric, int64_t value)
{
	atomic_store_explicit(&metric->value, value, memory_order_relaxed);
}

int64_t metric_value(const struct metric *metric)
{
	return atomic_load_explicit(&metric->value, memory_order_relaxed);
}

int metrics_add_source(struct metrics *metrics, metrics_source_fn *source, void *arg)
{
	int r = -E2BIG;

	LOCKED(&metrics->source_lock);
	if (metrics->source_count < SOURCES_MAX) {
		metrics->sources[metrics->source_count++] = (struct source){ source, arg };
		r = 0;
	}
	return r;
}

void metrics_forget_source(struct metrics *metrics, metrics_source_fn *source, void *arg)
{
	LOCKED(&metrics->source_lock);
	for (uint32_t i = 0; i < metrics->source_count; i++) {
		if (metrics->sources[i].render != source || metrics->sources[i].arg != arg)
			continue;
		memmove(&metrics->sources[i], &metrics->sources[i + 1],
			(--metrics->source_count - i) * sizeof(metrics->sources[0]));
		break;
	}
}

/* ---- A scrape ----------------------------------------------------------------- */

static void out_done(struct metrics_out *out)
{
	for (uint32_t i = 0; i < out->count; i++)
		free(out->at[i].labels);
	free(out->at);
}

/* Takes over labels. */
static void out_add(struct metrics_out *out, enum metric_kind kind, const char *name, const char *help, char *labels,
		    double value)
{
	if (!labels || array_reserve(&out->at, &out->cap, out->count + 1, sizeof(*out->at)) < 0) {
		free(labels);
		out->failed = true;
		return;
	}
	out->at[out->count] = (struct sample){ name, help, kind, out->count, labels, value };
	out->count++;
}

void metrics_put(struct metrics_out *out, enum metric_kind kind, const char *name, const char *help,
		 const struct metric_label *labels, size_t count, double value)
{
	if (out->count < 4 * METRICS_MAX)
		out_add(out, kind, name, help, render_labels(labels, count), value);
	else
		out->failed = true;
}

static void collect(struct metrics *metrics, struct metrics_out *out)
{
	pthread_mutex_lock(&metrics->source_lock);
	for (uint32_t i = 0; i < metrics->source_count; i++)
		metrics->sources[i].render(metrics->sources[i].arg, out);
	pthread_mutex_unlock(&metrics->source_lock);
	if (out->failed)
		metric_add(metrics->dropped, 1);
	pthread_mutex_lock(&metrics->lock);
	for (uint32_t i = 0; i < metrics->count; i++) {
		const struct metric *m = metrics->at[i];

		out_add(out, m->kind, m->name, m->help, strdup(m->labels), (double)metric_value(m));
	}
	pthread_mutex_unlock(&metrics->lock);
}

static int by_name(const void *a, const void *b)
{
	const struct sample *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order ? order : x->order < y->order ? -1 : 1;
}

static void render_value(struct buf *out, double value)
{
	if (isnan(value))
		buf_addf(out, " NaN\n");
	else if (isinf(value))
		buf_addf(out, " %cInf\n", value < 0 ? '-' : '+');
	else
		buf_addf(out, value == floor(value) && fabs(value) < 1e15 ? " %.0f\n" : " %.17g\n", value);
}

void metrics_each(struct metrics *metrics, metrics_use_fn *use, void *arg)
{
	struct metrics_out samples = { 0 };

	collect(metrics, &samples);
	if (samples.count)
		qsort(samples.at, samples.count, sizeof(*samples.at), by_name);
	for (uint32_t i = 0; i < samples.count; i++) {
		const struct sample *s = &samples.at[i];

		use(arg, s->kind, s->name, s->help, s->labels, s->value);
	}
	out_done(&samples);
}

struct text {
	struct buf *out;
	const char *last;		/* names are literals: it outlives its line */
};

static void render_line(void *arg, enum metric_kind kind, const char *name, const char *help, const char *labels,
			double value)
{
	struct text *text = arg;

	if (strcmp(name, text->last)) {
		buf_addf(text->out, "# HELP %s ", name);
		put_escaped(text->out, help, false);
		buf_addf(text->out, "\n# TYPE %s %s\n", name, kind == METRIC_GAUGE ? "gauge" : "counter");
	}
	text->last = name;
	buf_addf(text->out, "%s%s", name, labels);
	render_value(text->out, value);
}

void metrics_render(struct metrics *metrics, struct buf *out)
{
	metrics_each(metrics, render_line, &(struct text){ out, "" });
}
