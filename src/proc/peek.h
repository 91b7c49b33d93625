/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks at foreign processes: their memory, and files that they own or that
 * /proc shows of them. All of it can be held up by who is looked at, and so is
 * offloaded (base/offload.h). -ETIMEDOUT and -EBUSY are the answers to that.
 *
 * The tracer's thread owns it. NULL stands for looking without that care.
 */
#ifndef PROC_PEEK_H
#define PROC_PEEK_H

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/types.h"

struct offload_call;
struct peek;

#define PEEK_NOW UINT64_MAX

struct peek_stats {
	u64 looks;	/* that were begun: each is handed to another thread, which costs more than most of them */
	u64 late;	/* looks that did not come back in time */
	u64 refused;	/* ... that were not begun, since one there did not */
};

int peek_new(u64 limit_ns, struct peek **ret_peek);
void peek_free(struct peek *peek);
DEFINE_CLEANUP(struct peek *, peek_free)

/* A process and a device have different numbers, and no two the same. */
u64 peek_process(u64 serial);
u64 peek_device(u32 major, u32 minor);

/* All of some bytes of a process, by one of its threads: 0; -EFAULT if they are not there, -ESRCH if it is gone. */
int peek_memory(struct peek *peek, u64 place, u32 tid, u64 va, void *to, size_t bytes);

/*
 * The same of a thread's stack, as it is now: also pages that it may not read itself, such as those of a process that
 * guards its own.
 */
int peek_stack(struct peek *peek, u64 place, u32 tid, u64 va, void *to, size_t bytes);

/*
 * Memory is read by pages, and some are kept. Until the next call, whoever asks for memory is answered by what was read
 * at that time (CLOCK_MONOTONIC) or later: to tell what a sample means, a page that was read after it was taken is
 * better than what is there by now. PEEK_NOW: by nothing but what is there, as at first. Returns what it was before.
 */
u64 peek_since(struct peek *peek, u64 since_ns);

/* Pages that will be asked for: those that must be read are read at once. Some may not be there. */
void peek_expect(struct peek *peek, u64 place, u32 tid, const u64 *vas, u32 count);

/* What /proc/TID/name says, with a zero behind it: how many bytes, at most max (less than 2 GiB). */
int peek_text(struct peek *peek, u64 place, u32 tid, const char *name, size_t max, char **ret_text);

/* Any other call that is to be offloaded. */
int peek_run(struct peek *peek, struct offload_call *call);

struct peek_stats peek_stats(const struct peek *peek);

#endif
