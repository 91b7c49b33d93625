/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a machine did, as columns over time:
 *
 *	{"host", "source": "proc" or "samples", "start": [...], "end": [...], "cpus": [...], "busy": [...], ...
 *	 "by_cpu": [{"pid", "name", "values": [...]}, ...], "by_memory": [...]}
 *
 * Of a host that sends only samples the CPUs in use are those of its samples: "busy" and "by_cpu" alone.
 */
#ifndef WEB_SERIES_JSON_H
#define WEB_SERIES_JSON_H

#include "store/series.h"

struct buf;

/* -ENOMEM, -E2BIG. */
int series_json(const char *host, const struct series_rows *rows, struct buf *out);

/* chart: by process. */
int series_json_chart(const char *host, const struct store_chart *chart, u64 from_ns, u64 to_ns, struct buf *out);

#endif
