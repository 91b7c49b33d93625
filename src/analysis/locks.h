/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a profile of waits says of locks: of each how long threads waited for it, how many, where, and who had it; and
 * threads that wait for each other.
 *
 *  - Samples of one type are looked at: wakeup, which tells where a lock was let go, else off_cpu, else wall.
 *  - A wait that goes on has the holder that the lock says, one that ended, the one that let it go.
 *  - Waits for what is to happen (conditions, ends of threads) are only added up: nobody has those.
 *  - A deadlock is a ring of threads that were seen at one time, each waiting for long for what the next one has.
 *
 * Borrows the profile, which must outlive it unchanged. Memory: what the profile's own samples bound. One thread.
 */
#ifndef ANALYSIS_LOCKS_H
#define ANALYSIS_LOCKS_H

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/interner.h"
#include "kinds/locks.h"
#include "profile/profile.h"

struct lock_row {
	s64 pid;
	struct str process, address;
	enum lock_kind kind;
	s64 waited, longest;		/* nanoseconds; longest: of those that were sampled */
	u32 waiters;			/* threads */
	u32 first_part;			/* in parts: largest first */
	u32 site_count, holder_count;	/* places where it is waited for, then who had it */
};

/* A place where a lock is waited for (tid -1), or a thread that had it, and where it let go. */
struct lock_part {
	u32 lock;
	bool is_holder;
	s64 tid;
	struct str thread, function;	/* "" if unknown */
	s64 waited;
};

/* A thread that waits for what another has. */
struct lock_edge {
	s64 pid, tid, holder;
	struct str process, thread, address;
	u32 stack;			/* of the profile */
	u64 time_unix_ns;
	u32 next;			/* the edge of its holder, UINT32_MAX: none */
	u32 ring;			/* the number of its deadlock + 1; 0: none */
};

struct locks {
	const struct profile *profile;
	struct str type;		/* of the samples; "": there are none of waits */
	u64 duration_ns;
	s64 event_waited;		/* for what nobody has */
	struct lock_row *rows;		/* longest waited for first */
	struct lock_part *parts;
	struct lock_edge *edges;
	u32 row_count, part_count, edge_count, ring_count;
	u32 row_cap, part_cap, edge_cap;
	struct arena arena;
	struct interner row_keys, part_keys, waiter_keys, edge_keys, thread_keys;
	struct str *thread_names;	/* by thread_keys */
	u32 thread_cap;
};

/* -ENOMEM. A profile without waits has no rows. */
int locks_new(const struct profile *profile, struct locks **ret_locks);
void locks_free(struct locks *locks);
DEFINE_CLEANUP(struct locks *, locks_free)

/* The frames of a thread that waits, leaf first, without who ended it: calls visit with each user function. */
void locks_frames(const struct locks *locks, u32 stack, void (*visit)(void *arg, struct str function), void *arg);

#endif
