/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a reader of metrics may ask for beyond the plain text of base/metrics.h: type and unit at the end of names,
 * labels on every line, and target_info.
 */
#ifndef EXTENSIONS_PROMETHEUS_TEXT_H
#define EXTENSIONS_PROMETHEUS_TEXT_H

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct config_pairs;

struct prometheus_naming {
	bool type_suffix;	/* _total at the end of counters */
	bool units;		/* _seconds, _bytes */
	const char *labels;	/* for every line: "a=\"b\",c=\"d\"", or "" */
};

/* Appends the text that metrics_render() gave, under other names. */
void prometheus_rename(const char *text, size_t len, const struct prometheus_naming *naming, struct buf *out);

/* Appends key="value", with what may not be in a label's name as underscores; a comma first if out has something. */
void prometheus_label(struct buf *out, const char *key, const char *value);

#endif
