/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics (base/metrics.h) as a request of OTLP: an ExportMetricsServiceRequest with one resource. Counters are
 * cumulative sums, gauges are gauges; what is about the machine has the names, units and attributes of OpenTelemetry's
 * semantic conventions, what is about wick those that Prometheus reads.
 */
#ifndef EXTENSIONS_OTLP_METRICS_H
#define EXTENSIONS_OTLP_METRICS_H

#include "base/types.h"
#include "config/fields.h"

struct buf;
struct metrics;

struct otlp_metrics_options {
	const struct config_pairs *resource;
	bool machine_only;		/* only what is about the machine */
};

struct otlp_metrics_times {
	u64 now_ns, started_ns, booted_ns;	/* of the epoch; counters of the machine count from its boot on */
};

/* Appends it; out keeps its error. */
void otlp_metrics_encode(struct metrics *metrics, const struct otlp_metrics_options *options,
			 const struct otlp_metrics_times *times, struct buf *out);

#endif
