/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The status pages as HTML: one small style sheet, no scripts, nothing from elsewhere. All that is shown is escaped:
 * ids come from configurations, errors from the network.
 */
#ifndef EXTENSIONS_ZPAGES_HTML_H
#define EXTENSIONS_ZPAGES_HTML_H

#include "base/types.h"
#include "pipeline/service.h"

struct buf;

/* What the pages are made of, as of one moment. */
struct zpages_view {
	const struct component_view *components;
	u32 component_count;
	const struct pipeline_view *pipelines;
	u32 pipeline_count;
	const char *metrics;		/* as metrics_render() gives them, ended by NUL */
	u64 started_unix_ns, now_unix_ns;
};

void zpages_index(const struct zpages_view *view, struct buf *out);
void zpages_service(const struct zpages_view *view, struct buf *out);
void zpages_pipelines(const struct zpages_view *view, struct buf *out);
void zpages_extensions(const struct zpages_view *view, struct buf *out);
void zpages_features(const struct zpages_view *view, struct buf *out);

#endif
