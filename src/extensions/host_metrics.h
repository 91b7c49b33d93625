/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics about this process, under the Collector's names, and about the machine, as OTel calls them. Asked for at
 * each scrape; the machine at most once a second, so that many readers cost no more than one.
 */
#ifndef EXTENSIONS_HOST_METRICS_H
#define EXTENSIONS_HOST_METRICS_H

#include "base/cleanup.h"

struct host_metrics;
struct metrics;
struct metrics_out;

/* NULL without memory. */
struct host_metrics *host_metrics_new(void);
void host_metrics_free(struct host_metrics *host);
DEFINE_CLEANUP(struct host_metrics *, host_metrics_free)

/* A metrics_source_fn, whose arg is a struct host_metrics; one thread at a time. */
void host_metrics_put(void *arg, struct metrics_out *out);

#endif
