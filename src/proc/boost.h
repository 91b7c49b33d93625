/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "This one now, faster": processes that are sampled by a faster clock for a while. A plain value.
 *
 * Who is meant is said by texts that are compared as they are, without patterns: it comes from the service, which the
 * sampler does not trust (halves/channel.h).
 */
#ifndef PROC_BOOST_H
#define PROC_BOOST_H

#include <stdbool.h>

#include "abi.h"

struct process_facts;

#define BOOSTS_MAX 4
#define BOOST_TEXT_MAX 255
#define BOOST_SECONDS_MAX 600
#define BOOST_HZ_MAX CLOCK_HZ_MAX

/*
 * X(member): what processes are known by; "": any. container: a name, an id, or the first 12 digits or more of one;
 * pod: name or uid; executable: a path, or the name of the file; cgroup: a path, with those below it.
 */
#define BOOST_TEXTS(X) X(service) X(container) X(pod) X(executable) X(cgroup)

struct boost {
	u32 id;
	u32 hz;			/* samples a second on each CPU */
	u32 seconds;
	u32 pid;		/* 0: any */
	u32 uid;		/* if has_uid */
	bool has_uid;
#define X(member) char member[BOOST_TEXT_MAX + 1];
	BOOST_TEXTS(X)
#undef X
};

struct boost_list {
	u32 count;
	struct boost at[BOOSTS_MAX];
};

/* NULL if it may be asked for; else what is wrong with it. */
const char *boost_problem(const struct boost *boost);

/* Are they of the same processes? */
bool boost_is_same(const struct boost *a, const struct boost *b);

bool boost_fits(const struct boost *boost, const struct process_facts *facts);

/* The rate of the fastest that fits; 0: none does. list may be NULL. */
u32 boost_hz(const struct boost_list *list, const struct process_facts *facts);

#endif
