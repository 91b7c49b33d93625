/* SPDX-License-Identifier: Apache-2.0 */
/* The file that a probe of user code is in: opened once, and the places in it. The tracer's thread. */
#ifndef TRACER_PROBE_FILE_H
#define TRACER_PROBE_FILE_H

#include "base/cleanup.h"
#include "kinds/probe.h"

struct buf;
struct probe_points;
struct reader;

struct probe_file {
	int fd;				/* -1: none */
	struct probe_points *points;	/* at least one */
};

#define PROBE_FILE_EMPTY ((struct probe_file){ .fd = -1 })

/* A name without a slash is looked for where libraries and programs are. -errno with a sentence in `why`. */
int probe_file_open(const struct probe_point *point, struct reader *reader, struct probe_file *ret_file,
		    struct buf *why);
void probe_file_done(struct probe_file *file);

#endif
