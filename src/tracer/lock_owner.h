/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who has the lock that a thread waits for, where the lock itself says so. Two kinds do, and no others that wait in
 * futex() have a word that could be taken for it: glibc's mutexes, which have their owner's number behind the word that
 * is waited at, and what the kernel hands over itself, of which that word is the owner's number.
 *
 * The tracer's thread calls it.
 */
#ifndef TRACER_LOCK_OWNER_H
#define TRACER_LOCK_OWNER_H

#include "abi.h"

struct peek;

#define LOCK_WORDS 3

/* The owner that the words of a lock tell of, as its process counts threads; 0: none. */
u32 lock_owner_in(const u32 words[LOCK_WORDS]);

/* The thread that has the lock that the one of a record still waits for; 0: that is not known. */
u32 lock_owner(struct peek *peek, u64 place, const struct trace_record *record);

#endif
