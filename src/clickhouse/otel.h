/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A profile as rows of otel_profiles, as the OpenTelemetry Collector writes them: one for each sample, with its stack.
 * In pieces, each what fits into a block; the same profile makes the same blocks each time.
 */
#ifndef CLICKHOUSE_OTEL_H
#define CLICKHOUSE_OTEL_H

#include "clickhouse/walk.h"

struct columns;

struct otel_rows {
	const struct profile *profile;
	struct walk walk;			/* begins as zeros */
};

/* Fills a block, which is empty, with what comes next. How many rows; 0 at the end; -ENOMEM, -E2BIG. */
int otel_rows_next(struct otel_rows *rows, struct columns *columns);

#endif
