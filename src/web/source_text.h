/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of a source file that debug information names, from below directories that the operator has named: regular
 * files that end as sources do, without links on the way, at most 1 MiB, no NUL in them. Of a path the longest end that
 * is there is taken, after `map` has put one beginning in the place of another.
 *
 * Nothing is kept open: a directory may be mounted or replaced at any time. Any thread.
 */
#ifndef WEB_SOURCE_TEXT_H
#define WEB_SOURCE_TEXT_H

#include "base/buf.h"
#include "web/source_path.h"

#define SOURCE_BYTES_MAX ((size_t)1 << 20)
#define SOURCE_LINE_BYTES_MAX 500
#define SOURCE_DIRECTORIES_MAX 64

struct source_options {
	struct config_texts directories;	/* none: nothing is read */
	struct config_pairs map;
};

void source_options_check(const struct source_options *options, struct config_place place, const char *path,
			  struct config_errors *errors);

struct source_text {
	char path[2 * SOURCE_PATH_BYTES];	/* where it was found */
	struct buf bytes;
	u64 changed_ns;				/* CLOCK_REALTIME */
};

/* Done in any case. 0, or -errno and a sentence in `why` that says what to do. */
int source_text_read(const struct source_options *options, struct str file, struct source_text *ret_text,
		     struct buf *why);
void source_text_done(struct source_text *text);

/* The line at *at, cut and without its end; *at is then where the next one begins. False: there are no more. */
bool source_text_next(const struct source_text *text, size_t *at, struct str *ret_line);

#endif
