/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What comes within an interval as one profile, for backends that want few uploads: equal samples are joined, which
 * have sums but no times then. It is handed over when the interval is over, when it has become as large as it may,
 * and at the end.
 *
 * Any thread adds; take() is called by the thread that completed it or by the one that watches the time, without a
 * lock.
 */
#ifndef EXPORTERS_INTERVAL_H
#define EXPORTERS_INTERVAL_H

#include <stddef.h>

#include "base/cleanup.h"
#include "base/types.h"

struct buf;
struct interval;
struct profile;

struct interval_options {
	u64 length_ns;		/* from the first that is added on */
	size_t bytes_max;	/* past it, it does not wait */
	/* Takes over the profile; so many samples became it. */
	void (*take)(void *arg, struct profile *profile, u64 samples);
	/* So many that were added are gone: memory ran out. */
	void (*lose)(void *arg, u64 samples);
	void *arg;
};

int interval_new(const struct interval_options *options, struct interval **ret_interval);
int interval_start(struct interval *interval, struct buf *why);

/* -ENOMEM: it was not added, and what was before is lost. */
int interval_add(struct interval *interval, const struct profile *profile, u64 samples);

/* Hands over what is left; nobody may add any more. */
void interval_stop(struct interval *interval);
void interval_free(struct interval *interval);
DEFINE_CLEANUP(struct interval *, interval_free)

#endif
