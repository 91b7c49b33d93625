/* SPDX-License-Identifier: Apache-2.0 */
/* What components that may ask debuginfod have in common: the section of their options. */
#ifndef NAMING_DEBUGINFOD_OPTIONS_H
#define NAMING_DEBUGINFOD_OPTIONS_H

#include "config/fields.h"

struct buf;

struct debuginfod_options {
	struct config_texts urls;
	const char *cache_directory;
};

#define DEBUGINFOD_DEFAULTS { .cache_directory = "/var/cache/wick/debuginfod" }
extern const struct config_field debuginfod_fields[];

/* As the client wants them: separated by blanks, "" if there are none. */
int debuginfod_options_urls(const struct debuginfod_options *options, struct buf *out);

#endif
