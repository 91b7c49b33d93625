/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A directory of perf.data files that are named by time: perf-20261115-141503.data.
 *
 *  - A file is whole or not there: it is written under another name, and renamed. What a killed wick left of that is
 *    removed when the directory is next opened.
 *  - No file is ever replaced: if there is one of that second, since the clock went back, say, the next is ...-1.data.
 *  - One writer: the directory is locked while it is open.
 *  - Retention: by count, age and bytes, the oldest go first. The name tells the age; names of a time that is yet to
 *    come are those of a clock that was wrong, and count as the oldest. The newest file stays, whatever its size.
 *
 * One thread at a time.
 */
#ifndef EXPORTERS_PERFDIR_H
#define EXPORTERS_PERFDIR_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/types.h"

struct buf;
struct perfdir;

#define PERFDIR_NAME_MAX 64

struct perfdir_options {
	bool local_time;		/* in names; else UTC */
	u64 max_files, max_age_ns, max_bytes;	/* 0: no limit */
};

/* Makes the directory if need be. `why` gets a sentence. Path and options are borrowed. -EBUSY: another one has it. */
int perfdir_open(const char *path, const struct perfdir_options *options, struct perfdir **ret_dir, struct buf *why);
void perfdir_free(struct perfdir *dir);
DEFINE_CLEANUP(struct perfdir *, perfdir_free)

/* A descriptor to write a file to, which the next of the two closes. -errno. */
int perfdir_begin(struct perfdir *dir, int *ret_fd);

/* It is complete: names it after the time, and removes what is too old, or too much. */
int perfdir_commit(struct perfdir *dir, u64 unix_ns, char ret_name[PERFDIR_NAME_MAX]);
void perfdir_abort(struct perfdir *dir);

/* Files that retention removed so far. */
u64 perfdir_removed(const struct perfdir *dir);

#endif
