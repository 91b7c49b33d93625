/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads files while its owner goes on: a job is posted, run by one of a few
 * threads, each with a reader process of its own (exe/reader.h), and handed
 * back to its owner when that asks for what is done.
 *
 * One thread does all of it, as long as it is quick. While jobs wait for one
 * that is not, another thread is started, up to BACKGROUND_READERS_MAX. The
 * last of them gives a job only BACKGROUND_QUICK_MS: one that needs more is
 * ended, and begun again when another thread is free. And jobs of different
 * owners of files take turns. So a slow or hostile file delays others by that
 * moment, however many there are of them.
 *
 * One thread owns it, and calls everything here.
 */
#ifndef EXE_BACKGROUND_READER_H
#define EXE_BACKGROUND_READER_H

#include <stdbool.h>

#include "base/cleanup.h"
#include "base/types.h"
#include "exe/reader.h"

struct background_reader;

#define BACKGROUND_READERS_MAX 3
#define BACKGROUND_QUICK_MS 250
#define BACKGROUND_JOBS_MAX 4096

/* The head of what a job works on. From malloc(); until done() it is not the owner's. */
struct read_job {
	/* In a thread of the background reader; maybe twice, where the reader took too long. */
	int (*run)(struct read_job *job, struct reader *reader);
	/* In its owner's thread, with what run() returned: -ECANCELED if it was never run. Frees the job. */
	void (*done)(struct read_job *job, int result);
	u64 owner;		/* of the file: read_job_owner(), or any number */

	/* The background reader's. */
	struct read_job *next;
	u64 posted_ns;
	int result;
	bool is_slow;		/* it was ended for others */
};

int background_reader_new(struct background_reader **ret_reader);
/* Ends what is under way; all jobs are done(). */
void background_reader_free(struct background_reader *reader);
DEFINE_CLEANUP(struct background_reader *, background_reader_free)

/* Who owns a file, without asking whoever serves it. */
u64 read_job_owner(int fd);

/* Takes the job: true; or, where there is no room, calls done() at once. */
bool background_reader_post(struct background_reader *reader, struct read_job *job);

/* Calls done() of the jobs that are, and starts a thread if some have waited for long. */
void background_reader_poll(struct background_reader *reader, u64 now_ns);

/*
 * Waits for one job that was posted, for as long as that: true once it is done(). No other job is, meanwhile. For what
 * is worth a moment, and can be had later if it takes longer.
 */
bool background_reader_wait(struct background_reader *reader, const struct read_job *job, u64 limit_ns);

/*
 * All together rest so many times as long as they work: it bounds what they cost. BACKGROUND_NO_JOBS: what is under way
 * hardly goes on, and nothing is begun.
 */
#define BACKGROUND_NO_JOBS 0xffffffffu
void background_reader_rest(struct background_reader *reader, u32 times);

/* Readable when jobs are done. */
int background_reader_fd(const struct background_reader *reader);

/* How many jobs were done since the start. */
u64 background_reader_done_count(const struct background_reader *reader);

/* The sums over its readers. A job that was ended for others, to be begun again, does not count. */
struct reader_stats background_reader_stats(struct background_reader *reader);

/* Its processes that run now, 0 where there is none. */
void background_reader_pids(struct background_reader *reader, int ret_pids[BACKGROUND_READERS_MAX]);

#endif
