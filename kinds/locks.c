// SPDX-License-Identifier: Apache-2.0
#include "kinds/locks.h"

#include <string.h>

/* By how a function begins, underscores in front apart. */
static const struct {
	const char *begins;
	enum lock_kind kind;
} functions[] = {
	{ "pthread_mutex_", LOCK_MUTEX }, { "lll_mutex_", LOCK_MUTEX }, { "lll_lock_", LOCK_MUTEX },
	{ "lll_wait_", LOCK_MUTEX }, { "pthread_rwlock_", LOCK_RWLOCK }, { "pthread_cond_", LOCK_CONDITION },
	{ "sem_", LOCK_SEMAPHORE }, { "new_sem_", LOCK_SEMAPHORE }, { "pthread_barrier_", LOCK_BARRIER },
	{ "pthread_join", LOCK_JOIN }, { "pthread_clockjoin", LOCK_JOIN }, { "pthread_timedjoin", LOCK_JOIN },
	{ "take_gil", LOCK_INTERPRETER }, { "drop_gil", LOCK_INTERPRETER },
	{ "ObjectMonitor::", LOCK_MONITOR }, { "ObjectSynchronizer::", LOCK_MONITOR }, { "Parker::park", LOCK_PARK },
	{ "Unsafe_Park", LOCK_PARK }, { "runtime.lock", LOCK_MUTEX }, { "runtime.notesleep", LOCK_PARK },
	{ "runtime.notetsleep", LOCK_PARK }, { "runtime.semasleep", LOCK_PARK }, { "runtime.park_m", LOCK_PARK },
};

/* What only leads there. */
static const char *const machinery[] = {
	"futex_", "lll_", "syscall", "GI_", "libc_", "gthread_", "std::", "internal_syscall", "pthread_", "sem_",
	"runtime.futex", "runtime.unlock", "parking_lot", "PyThread_", "PyMutex_",
};

static const struct {
	const char *text;
	bool is_held;
} kinds[] = {
#define X(ID, text, is_held) [LOCK_##ID] = { text, is_held },
	LOCK_KINDS(X)
#undef X
};

static struct str without_underscores(struct str function)
{
	while (function.len && *function.at == '_') {
		function.at++;
		function.len--;
	}
	return function;
}

static bool begins_with(struct str function, const char *begins)
{
	size_t len = strlen(begins);

	return function.len >= len && !memcmp(function.at, begins, len);
}

enum lock_kind lock_kind_of(struct str function)
{
	struct str bare = without_underscores(function);

	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++)
		if (begins_with(bare, functions[i].begins))
			return functions[i].kind;
	return LOCK_UNKNOWN;
}

bool lock_is_machinery(struct str function)
{
	struct str bare = without_underscores(function);

	for (size_t i = 0; i < sizeof(machinery) / sizeof(*machinery); i++)
		if (begins_with(bare, machinery[i]))
			return true;
	return lock_kind_of(function) != LOCK_UNKNOWN;
}

const char *lock_kind_text(enum lock_kind kind)
{
	return kinds[kind].text;
}

bool lock_is_held(enum lock_kind kind)
{
	return kinds[kind].is_held;
}
