/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why a thread waits: by what it did when it left its CPU (enum wait), by the system call that it was in, and, where
 * those do not tell, by the functions of the kernel below which it waits.
 *
 * All of it is constant; any thread.
 */
#ifndef KINDS_WAITS_H
#define KINDS_WAITS_H

#include <stdbool.h>

#include "abi.h"
#include "base/str.h"

#define WAIT_REASONS(X)                 \
	X(NONE, "")                     \
	X(RUN_QUEUE, "run_queue")       \
	X(THROTTLED, "throttled")       \
	X(FUTEX, "futex")               \
	X(SLEEP, "sleep")               \
	X(POLL, "poll")                 \
	X(DISK, "disk")                 \
	X(NETWORK, "network")           \
	X(PIPE, "pipe")                 \
	X(TERMINAL, "terminal")         \
	X(CHILD, "child")               \
	X(SIGNAL, "signal")             \
	X(IO_URING, "io_uring")         \
	X(PAGE_FAULT, "page_fault")     \
	X(KERNEL_LOCK, "kernel_lock")   \
	X(STOPPED, "stopped")           \
	X(OTHER, "other")

enum wait_reason {
#define X(ID, text) REASON_##ID,
	WAIT_REASONS(X)
#undef X
	REASON_COUNT,
};

/* REASON_NONE of a thread that ran; syscall -1: it was in none. */
enum wait_reason wait_reason(u32 wait, s32 syscall);

/* A reason that is not sure yet, by a function of the kernel; the same if that does not tell. */
enum wait_reason wait_reason_by(enum wait_reason reason, const char *function);

/* Of the functions of the kernel in a stack that wakes, leaf first: it begins there, */
bool wait_wakes(const char *function);
/* ... and an interrupt came in there. What it interrupted has nothing to do with it. */
bool wait_is_interrupt(const char *function);

/* REASON_OTHER of one that is not known, REASON_NONE of an empty text. */
enum wait_reason wait_reason_named(struct str text);

const char *wait_reason_text(enum wait_reason reason);

#endif
