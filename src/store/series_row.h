/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a machine did in a stretch of time, from /proc: CPUs, memory, load, and
 * the processes that had most of it. Plain values; no state.
 *
 *	two samples of the machine	-> series_row_measure()	-> a row
 *	rows of a minute		-> series_row_join()	-> a row
 */
#ifndef STORE_SERIES_ROW_H
#define STORE_SERIES_ROW_H

#include <stddef.h>

#include "base/types.h"

struct buf;
struct host_sample;

#define SERIES_TOP 10
#define SERIES_NAME_BYTES 32
/* More than the longest row takes on disk. */
#define SERIES_ROW_BYTES 1280

/*
 * Whole numbers; MEAN: weighted by time when rows are joined, MAX: the largest. On disk they stand in this order: new
 * ones go to the end.
 *
 *	X(id, name in answers, how rows join, what one of it is)
 */
#define SERIES_NUMBERS(X)						\
	X(CPUS, "cpus", MAX, 1)						\
	X(BUSY, "busy", MEAN, 1e-3)		/* CPUs */		\
	X(BUSY_PEAK, "busy_peak", MAX, 1e-3)				\
	X(IOWAIT, "iowait", MEAN, 1e-3)					\
	X(STEAL, "steal", MEAN, 1e-3)					\
	X(MEMORY_TOTAL, "memory_total", MAX, 1)	/* bytes */		\
	X(MEMORY_USED, "memory_used", MEAN, 1)				\
	X(MEMORY_PEAK, "memory_peak", MAX, 1)				\
	X(LOAD, "load", MEAN, 1e-3)		/* of one minute */	\
	X(PROCESSES, "processes", MEAN, 1)

enum series_number {
#define X(id, name, join, scale) SERIES_##id,
	SERIES_NUMBERS(X)
#undef X
	SERIES_NUMBER_COUNT,
};

enum series_top_kind { SERIES_BY_CPU, SERIES_BY_MEMORY, SERIES_TOPS };

struct series_process {
	u32 pid;
	u64 amount;			/* thousandths of a CPU; bytes */
	char name[SERIES_NAME_BYTES];	/* what it calls itself; may hold any bytes but NUL */
};

struct series_row {
	u64 start_ns, end_ns;		/* CLOCK_REALTIME; the end is not in it */
	u64 numbers[SERIES_NUMBER_COUNT];
	struct series_top {
		u32 count;
		struct series_process at[SERIES_TOP];	/* the largest first */
	} top[SERIES_TOPS];
};

/* The name of a number in answers, and what one of it is. */
const char *series_number_name(enum series_number number);
double series_number_scale(enum series_number number);

/* What happened between two samples, of which the second was taken at now_ns (CLOCK_REALTIME). */
void series_row_measure(const struct host_sample *before, const struct host_sample *now, u64 now_ns,
			struct series_row *ret_row);

/* One row of several, at least one; from the first one's start to the last one's end. -ENOMEM. */
int series_row_join(const struct series_row *rows, u32 count, struct series_row *ret_row);

/* Without its times. */
void series_row_pack(const struct series_row *row, struct buf *out);

/* -EBADMSG. */
int series_row_unpack(const void *at, size_t bytes, struct series_row *ret_row);

#endif
