/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies a profile into others, piece by piece: to join several without
 * touching a sample, or to cut one that is too large.
 *
 *	appender_new(from) -> appender_next(into, 1000), appender_next(another, 1000), ... until appender_done()
 *
 *  - Resources, scopes and sets are appended with all they say; those that are cut
 *    appear in each piece. Samples keep their order, values and times.
 *  - Of the dictionary only the rows that are referred to come along, each once.
 *
 * merge.h joins equal samples; this does not. One thread owns an appender; `from` must outlive it.
 */
#ifndef PROFILE_APPEND_H
#define PROFILE_APPEND_H

#include <stdbool.h>

#include "base/cleanup.h"
#include "base/types.h"

struct appender;
struct profile;

struct appender *appender_new(const struct profile *from);
void appender_free(struct appender *appender);
DEFINE_CLEANUP(struct appender *, appender_free)

/* The next samples, at most so many; ret_count tells how many there were. -ENOMEM, -E2BIG: into is of no use then. */
int appender_next(struct appender *appender, struct profile *into, u64 samples_max, u64 *ret_count);

/* Whether all was copied. */
bool appender_done(const struct appender *appender);

#endif
