/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers of fields, of opentelemetry/proto/metrics/v1/metrics.proto and what it imports: as much of it as is written
 * or read here.
 */
#ifndef WIRE_OTLP_METRICS_SCHEMA_H
#define WIRE_OTLP_METRICS_SCHEMA_H

enum { REQUEST_RESOURCE_METRICS = 1 };
enum { RESOURCE_METRICS_RESOURCE = 1, RESOURCE_METRICS_SCOPE_METRICS = 2 };
enum { RESOURCE_ATTRIBUTES = 1, SCOPE_METRICS_SCOPE = 1, SCOPE_METRICS_METRICS = 2, SCOPE_NAME = 1, SCOPE_VERSION = 2 };
enum {
	METRIC_NAME = 1, METRIC_DESCRIPTION = 2, METRIC_UNIT = 3,
	METRIC_GAUGE_DATA = 5, METRIC_SUM_DATA = 7, METRIC_HISTOGRAM = 9,
	METRIC_EXPONENTIAL_HISTOGRAM = 10, METRIC_SUMMARY = 11,
};
enum { DATA_POINTS = 1, SUM_TEMPORALITY = 2, SUM_IS_MONOTONIC = 3 };
enum { POINT_START = 2, POINT_TIME = 3, POINT_DOUBLE = 4, POINT_INT = 6, POINT_ATTRIBUTES = 7, POINT_FLAGS = 8 };
enum { PAIR_KEY = 1, PAIR_VALUE = 2, ANY_VALUE_STRING = 1, ANY_VALUE_INT = 3 };

#define METRIC_IS_DATA(number) ((number) >= METRIC_GAUGE_DATA && (number) <= METRIC_SUMMARY)
#define CUMULATIVE 2			/* of AggregationTemporality */
#define POINT_HAS_NO_VALUE 1u		/* of flags */

#endif
