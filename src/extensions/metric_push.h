/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends metrics by OTLP, again and again: service::telemetry::metrics::readers::periodic. Values are cumulative, so
 * that one that could not be sent is in the next. A thread of its own, "wick: metrics"; the last is sent when it is
 * stopped.
 */
#ifndef EXTENSIONS_METRIC_PUSH_H
#define EXTENSIONS_METRIC_PUSH_H

#include "config/fields.h"

struct buf;
struct metric_push;
struct metrics;
struct telemetry_periodic;

/* The first is sent after one interval. All is borrowed until it is stopped. -errno with a sentence in `why`. */
int metric_push_start(const struct telemetry_periodic *options, struct metrics *metrics,
		      const struct config_pairs *resource, struct metric_push **ret_push, struct buf *why);

/* Accepts NULL. */
void metric_push_stop(struct metric_push *push);

#endif
