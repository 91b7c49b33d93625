/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records into a file, each whole or not at all:
 *
 *	lines		record \n
 *	else		4 bytes, the length, big-endian; record
 *
 *  - What a full disk took only a part of is taken back before anything else
 *    is written; nothing waits in memory, so that kill -9 costs at most the
 *    record under way.
 *  - A file that goes on being written (append, rotation) may end in a half
 *    record for that reason: a line is ended, a length-framed record cut off.
 *  - Rotation: a file that would grow past max_bytes is renamed to
 *    NAME-2022-09-14T05-02-14.173.EXT; of those, max_backups are kept, none
 *    for longer than max_days. A record larger than max_bytes gets a file of its own.
 *
 * A pipe or a terminal is written to as well, without taking back or rotation.
 *
 * One thread owns a filewriter.
 */
#ifndef EXPORTERS_FILEWRITER_H
#define EXPORTERS_FILEWRITER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/types.h"

struct buf;
struct filewriter;

struct filewriter_options {
	bool lines;
	bool append;			/* else the file is emptied first, unless rotate */
	bool rotate;
	u64 max_bytes;
	u32 max_days, max_backups;	/* 0: no limit */
	bool local_time;		/* in the names of rotated files; else UTC */
	size_t record_max;		/* a length past it says that the file is none of ours */
};

/* path is copied, options are borrowed. `why` gets a sentence. */
int filewriter_open(const char *path, const struct filewriter_options *options, struct filewriter **ret_writer,
		    struct buf *why);
void filewriter_free(struct filewriter *writer);
DEFINE_CLEANUP(struct filewriter *, filewriter_free)

/*
 * -errno: nothing of the record is in the file. -EPIPE from then on if a part of it is, and cannot be taken back.
 * unix_ns names the file that is rotated away.
 */
int filewriter_write(struct filewriter *writer, const void *at, size_t bytes, u64 unix_ns);

const char *filewriter_path(const struct filewriter *writer);

#endif
