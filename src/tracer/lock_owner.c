// SPDX-License-Identifier: Apache-2.0
#include "tracer/lock_owner.h"

#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "proc/peek.h"

#define WORD_WAITERS 0x80000000u	/* <linux/futex.h>: the kernel hands it over */
#define WORD_OWNER 0x3fffffffu
#define WORD_CONTENDED 2		/* glibc: taken, and somebody waits */

u32 lock_owner_in(const u32 words[LOCK_WORDS])
{
	if (words[0] & WORD_WAITERS)
		return words[0] & WORD_OWNER;
	return words[0] == WORD_CONTENDED ? words[2] : 0;
}

static bool is_thread_of(u32 pid, u32 tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/task/%u", pid, tid);
	return access(path, F_OK) == 0;
}

/* Whatever the words are of: only another thread of the same process can have it. */
u32 lock_owner(struct peek *peek, u64 place, const struct trace_record *record)
{
	u32 words[LOCK_WORDS], owner;
	u64 before_ns;
	int r;

	if (!record->lock_va || !(record->slice_state & SLICE_IS_ASLEEP))
		return 0;
	before_ns = peek_since(peek, PEEK_NOW);
	r = peek_memory(peek, place, record->tid, record->lock_va, words, sizeof(words));
	(void)peek_since(peek, before_ns);
	owner = r < 0 ? 0 : lock_owner_in(words);
	return owner && owner != record->tid && is_thread_of(record->pid, owner) ? owner : 0;
}
