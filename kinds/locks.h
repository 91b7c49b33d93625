/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a thread in futex() waits for, by the functions that it waits in: a lock that somebody has, or something that is
 * to happen.
 *
 * All of it is constant; any thread.
 */
#ifndef KINDS_LOCKS_H
#define KINDS_LOCKS_H

#include <stdbool.h>

#include "base/str.h"

/* id, name, is it something that a thread has until it lets go? */
#define LOCK_KINDS(X)                           \
	X(UNKNOWN, "futex", true)               \
	X(MUTEX, "mutex", true)                 \
	X(RWLOCK, "rwlock", true)               \
	X(MONITOR, "monitor", true)             \
	X(INTERPRETER, "interpreter", true)     \
	X(CONDITION, "condition", false)        \
	X(SEMAPHORE, "semaphore", false)        \
	X(BARRIER, "barrier", false)            \
	X(JOIN, "join", false)                  \
	X(PARK, "park", false)

enum lock_kind {
#define X(ID, text, is_held) LOCK_##ID,
	LOCK_KINDS(X)
#undef X
};

/* By a function of user code; LOCK_UNKNOWN: that does not tell. */
enum lock_kind lock_kind_of(struct str function);

/* Does it only lead to the wait? Whoever called it is where the program waits, or lets go. */
bool lock_is_machinery(struct str function);

const char *lock_kind_text(enum lock_kind kind);
bool lock_is_held(enum lock_kind kind);

#endif
