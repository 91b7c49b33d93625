/* SPDX-License-Identifier: Apache-2.0 */
/* For tests: a profile as text, with names instead of indices, so that equal text means equal profiles. */
#ifndef PROFILE_DUMP_TEST_H
#define PROFILE_DUMP_TEST_H

struct profile;

/* Allocated; never NULL. */
char *profile_dump(const struct profile *profile);

/*
 * What several profiles have of every resource, scope, sample type, stack,
 * link and set of attributes: the sum of the values, and how many times there
 * are, with a checksum over them and their values. Sorted: equal text means
 * that nothing was lost or made up. Allocated; never NULL.
 */
char *profile_totals(const struct profile *const *profiles, unsigned int count);

/*
 * A made-up profile that uses everything the model has. simple: only what
 * pprof can say too, which is one value a sample and no links, times, nested
 * values or ids.
 */
struct profile *profile_random(unsigned int seed, int simple);

#endif
