/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * What is noted of a thread, and what its waits weigh: its waiting time is cut into strata, in each lies a point,
 * at random, and a wait weighs as much as the strata whose points it covers; or all waits have the same chance.
 */
#ifndef KINDS_OFF_CPU_WEIGH_H
#define KINDS_OFF_CPU_WEIGH_H

#include "sample.h"

#define STRATUM_MIN_NS 1000000ull
#define STRATUM_MAX_NS (1ull << 32)
#define STRATUM_FIRST_NS 10000000ull

/* What is noted of a thread. */
struct thread_notes {
	u64 out_ns;		/* when it left its CPU, or its wait was last told; 0: it runs, or that is not known */
	u64 since_ns;		/* when it left its CPU */
	u64 at_ns;		/* how far it has come in its stratum */
	u64 next_ns;		/* where something is to be done: at the point, or at the stratum's end */
	u64 point_ns, stratum_ns;
	u64 owed_ns;		/* what waits weighed whose stacks were not walked: the next one's weighs that more */
	u64 cpu_wait_ns;	/* the kernel's, when it left */
	u64 told_ns;		/* when its totals were last told, and what the kernel's were */
	u64 told_run_ns, told_cpu_wait_ns;
	u64 weighed_ns;		/* of its wait, up to when it has been weighed */
	u64 wake;		/* what has ended it, see struct trace_record */
	u32 wait;		/* enum wait */
	u32 walk;		/* enum walk_room */
	u64 lane_ns;		/* up to when it was told what it did (lanes.h); 0: it is not to be told */
	u64 woken_ns;		/* when its wait was ended; 0: it is not */
	u32 cpu;		/* where it ran last, if that is known */
	u32 pad;
};

/* Is there room for the stack of this wait, within what a CPU may take? */
enum walk_room { ROOM_OPEN, ROOM_NONE, ROOM_GRANTED };

static __always_inline u64 random_below(u64 limit)
{
	return bpf_get_prandom_u32() * (limit & (STRATUM_MAX_NS * 2 - 1)) >> 32;
}

static __always_inline void stratum_begin(struct thread_notes *t, u64 stratum_ns, u64 at_ns)
{
	t->stratum_ns = stratum_ns;
	t->point_ns = random_below(stratum_ns);
	t->at_ns = at_ns;
	t->next_ns = t->point_ns >= at_ns ? t->point_ns : stratum_ns;
}

/* What a wait weighs: the strata whose points it covers. */
static __always_inline u64 weigh(struct thread_notes *t, u64 length_ns, u64 stratum_ns)
{
	u64 from = t->at_ns, to = from + length_ns, weight = 0, rest;

	if (to < t->next_ns) {
		t->at_ns = to;
		return 0;
	}
	if (t->point_ns >= from && t->point_ns < to)
		weight = t->stratum_ns;
	if (to < t->stratum_ns) {
		t->at_ns = to;
		t->next_ns = t->point_ns >= to ? t->point_ns : t->stratum_ns;
		return weight;
	}
	rest = to - t->stratum_ns;
	weight += rest - rest % stratum_ns;
	stratum_begin(t, stratum_ns, rest % stratum_ns);
	return t->point_ns < t->at_ns ? weight + stratum_ns : weight;
}

/* The same where each wait has the same chance. */
static __always_inline u64 weigh_by_chance(u64 length_ns)
{
	u64 chance = switches.wait_chance;

	if (bpf_get_prandom_u32() > chance)
		return 0;
	return length_ns < 1ull << 40 ? (length_ns << 20) / ((chance >> 12) + 1) : length_ns;
}

/* What its wait weighs since that was last asked; where each has the same chance, there is one draw. */
static __always_inline u64 wait_weight(struct thread_notes *t, u64 now, u64 stratum_ns)
{
	u64 since = t->weighed_ns;

	if (now <= since)
		return 0;
	t->weighed_ns = now;
	if (switches.wait_chance)
		return since == t->out_ns ? weigh_by_chance(now - since) : 0;
	return weigh(t, now - since, stratum_ns);
}

/* A part of a weight: as much of it as one length is of another. */
static __always_inline u64 part_of(u64 weight, u64 part_ns, u64 length_ns)
{
	u64 share = (part_ns << 20) / (length_ns | 1);

	return (weight >> 10) * share >> 10;
}

#endif
