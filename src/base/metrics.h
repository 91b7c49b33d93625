/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers about wick itself, as Prometheus reads them: counters and gauges by
 * name and labels, and sources that are asked at each scrape for what is
 * counted elsewhere.
 *
 *  - A counter lives as long as the registry: asking for the same name and
 *    labels again, after a reload say, gives the same one, with its value.
 *  - At most METRICS_MAX; past that a spare one is given, that is shown nowhere,
 *    and `wick_metrics_dropped` says how often that happened.
 *
 * Any thread may call all of it; adding is an atomic addition without a lock.
 */
#ifndef BASE_METRICS_H
#define BASE_METRICS_H

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct buf;
struct metric;
struct metrics;

#define METRICS_MAX 4096
#define METRIC_LABELS_MAX 4

enum metric_kind { METRIC_COUNTER, METRIC_GAUGE };

/* Both are copied. */
struct metric_label {
	const char *key, *value;
};

struct metrics *metrics_new(void);
void metrics_free(struct metrics *metrics);
DEFINE_CLEANUP(struct metrics *, metrics_free)

/* Never NULL. name and help are literals; labels end at count or a NULL key. */
struct metric *metrics_get(struct metrics *metrics, enum metric_kind kind, const char *name, const char *help,
			   const struct metric_label *labels, size_t count);

void metric_add(struct metric *metric, uint64_t n);
void metric_set(struct metric *metric, int64_t value);
int64_t metric_value(const struct metric *metric);

/*
 * A source writes its own lines with metrics_put() while a scrape is
 * rendered; it is called by the scraping thread. Forget it before what it reads is freed.
 */
struct metrics_out;
typedef void metrics_source_fn(void *arg, struct metrics_out *out);
int metrics_add_source(struct metrics *metrics, metrics_source_fn *source, void *arg);
void metrics_forget_source(struct metrics *metrics, metrics_source_fn *source, void *arg);
void metrics_put(struct metrics_out *out, enum metric_kind kind, const char *name, const char *help,
		 const struct metric_label *labels, size_t count, double value);

/* Calls use(arg, ...) for each number, in the order of names; labels are as the text has them: {a="b"}, or "". */
typedef void metrics_use_fn(void *arg, enum metric_kind kind, const char *name, const char *help, const char *labels,
			    double value);
void metrics_each(struct metrics *metrics, metrics_use_fn *use, void *arg);

/* The text exposition format; names sorted, each with # HELP and # TYPE once. */
void metrics_render(struct metrics *metrics, struct buf *out);

#endif
