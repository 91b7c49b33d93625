/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much each sender has lately made grow what is kept in memory for all: names, stacks, series. One whose profiles
 * are ever new ones is told to come later; others, who mostly send what is known, never meet this.
 *
 *  - Together senders may add a part of the memory budget (base/budget.h) in five minutes, one alone half of that. When
 *    all together have too much, those are refused who have more than an equal part of it.
 *  - What was taken in counts, whenever it is noted: who keeps it notes, who receives asks before the next is taken.
 *  - A sender is a key, 0: this machine itself, who is never refused. A fixed table by a seeded hash: those that meet
 *    share one. One ledger, as there is one budget. Any thread.
 */
#ifndef BASE_GROWTH_H
#define BASE_GROWTH_H

#include <stdbool.h>

#include "base/types.h"

#define GROWTH_LOCAL 0
#define GROWTH_PERIOD_NS (300 * 1000000000ull)

/* What senders may add together in a period; UINT64_MAX while there is no budget. */
u64 growth_most(void);

/* now_ns: CLOCK_MONOTONIC. */
void growth_note(u64 sender, u64 bytes, u64 now_ns);
bool growth_allows(u64 sender, u64 now_ns);

/* Forgets all, for tests. */
void growth_reset(void);

#endif
