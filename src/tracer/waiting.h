/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The records that wait (tracer/pending.h), in memory that has a maximum: all of them, those that wait for files, and
 * those of one process that do, which is the less the more others wait. Whoever goes through them takes them as they
 * are, in `at`, and says which are left.
 *
 * The tracer's thread.
 */
#ifndef TRACER_WAITING_H
#define TRACER_WAITING_H

#include <stdbool.h>
#include <stddef.h>

#include "tracer/pending.h"

struct process;
struct processes;

struct waiting {
	struct pending *at;
	u32 count, cap;
	size_t bytes, max_bytes;
	u32 for_files;			/* of them, for files of their process, which they hold */
	size_t for_files_bytes;
	u64 full;			/* records that found no room */
};

#define WAITING_BYTES_MAX ((size_t)16 << 20)	/* unless told */

/* max_bytes: of all of them; 0: WAITING_BYTES_MAX. */
void waiting_init(struct waiting *waiting, size_t max_bytes);
void waiting_done(struct waiting *waiting, struct processes *processes);

/* A record of so many bytes, with as much of its slice as there is room for. */
void waiting_add(struct waiting *waiting, const struct trace_record *record, size_t bytes);

/* More of a slice that waits. Without it that one is cut where it ends. */
void waiting_add_rest(struct waiting *waiting, const struct trace_record *rest);

/* By time. */
void waiting_sort(struct waiting *waiting);

/* Of the first `seen` the first `kept` are left. */
void waiting_keep(struct waiting *waiting, u32 kept, u32 seen);

/* Where there is little room for more of a process, its longest slices are shortened: rather that than none. */
void waiting_shorten(struct waiting *waiting);

/* Is there room for one more that waits for files of a process? From waiting_hold() on it does, and has it. */
bool waiting_has_room(const struct waiting *waiting, const struct process *process, const struct pending *pending);
void waiting_hold(struct waiting *waiting, struct pending *pending, struct process *process);

/* The record is done with. */
void waiting_release(struct waiting *waiting, struct processes *processes, const struct pending *pending);

#endif
