/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of files that match patterns, as they are written. A file is known by its inode: one that is renamed goes on
 * where it was, and what is left of it is read to its end; one that was cut is read from its start.
 *
 * Open files are bounded; those past the bound wait until others are gone, counted. One thread owns it.
 */
#ifndef RECEIVERS_FILETAIL_H
#define RECEIVERS_FILETAIL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/types.h"
#include "config/fields.h"

struct filetail;

struct filetail_options {
	struct config_texts include, exclude;	/* glob(7); borrowed */
	bool from_beginning;		/* files that are there at the first look; later ones always are */
	bool delete_after_read;		/* files whose last line was taken */
	bool replay;			/* read each file again at each look */
	s64 exclude_older_than_ns;	/* by the time of the last change; 0: none */
	u32 files_max;
	size_t line_max;		/* longer ones are left out */
};

struct filetail_stats {
	u64 lines_too_long;
	u64 files_waiting;		/* times that a file did not fit */
	u64 files_unreadable;
};

int filetail_new(const struct filetail_options *options, struct filetail **ret_tail);
void filetail_free(struct filetail *tail);
DEFINE_CLEANUP(struct filetail *, filetail_free)

/*
 * Hands over whole lines, without their end; empty ones are left out. -EAGAIN of line(): it is offered again at the
 * next poll, with all that follows in its file. Anything else: it is done with. stop (optional) ends the poll early.
 */
void filetail_poll(struct filetail *tail, int (*line)(void *arg, const char *path, const char *at, size_t len),
		   bool (*stop)(void *arg), void *arg);

struct filetail_stats filetail_stats(const struct filetail *tail);

#endif
