/* SPDX-License-Identifier: Apache-2.0 */
/* Reads single numbers out of the text that metrics_render() gives. */
#ifndef EXTENSIONS_METRIC_TEXT_H
#define EXTENSIONS_METRIC_TEXT_H

#include <stdbool.h>
#include <stddef.h>

struct buf;

/*
 * The sum of all lines of this name, with key="value" among their labels; key NULL: whatever they have.
 * false: there is none.
 */
bool metric_text_sum(const char *text, const char *name, const char *key, const char *value, double *ret_sum);

/* All of them as members of a JSON object: "name{labels}": number, ... without the braces. */
void metric_text_json(const char *text, struct buf *out);

#endif
