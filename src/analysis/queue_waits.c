// SPDX-License-Identifier: Apache-2.0
#include "analysis/queue_waits.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

#define NEXT_NS 1000000	/* parts of one wait follow each other at once, but for what clocks differ by */

int queue_waits_init(struct queue_waits *waits, u32 columns, u32 group_count)
{
	*waits = (struct queue_waits){ .columns = columns, .group_count = group_count };
	waits->cells = array_calloc((size_t)columns * QUEUE_ROWS, sizeof(*waits->cells));
	waits->groups = array_calloc((size_t)group_count + 1, sizeof(*waits->groups));
	if (waits->cells && waits->groups)
		return 0;
	queue_waits_done(waits);
	return -ENOMEM;
}

void queue_waits_done(struct queue_waits *waits)
{
	free(waits->cells);
	free(waits->groups);
	*waits = (struct queue_waits){ 0 };
}

static u32 octave_of(u64 ns)
{
	return ns ? 63 - (u32)__builtin_clzll(ns) : 0;
}

static u32 row_of(u64 ns)
{
	u32 octave = octave_of(ns);

	if (octave < QUEUE_ROW_SHIFT)
		return 0;
	return octave - QUEUE_ROW_SHIFT + 1 < QUEUE_ROWS ? octave - QUEUE_ROW_SHIFT + 1 : QUEUE_ROWS - 1;
}

static u32 step_of(u64 ns)
{
	u32 octave = octave_of(ns);

	if (octave < QUEUE_FIRST_OCTAVE)
		return 0;
	if (octave >= QUEUE_FIRST_OCTAVE + QUEUE_OCTAVES)
		return QUEUE_COUNTS - 1;
	return 1 + (octave - QUEUE_FIRST_OCTAVE) * QUEUE_STEPS + (u32)(ns >> (octave - 3) & (QUEUE_STEPS - 1));
}

/* All that such a step holds is below. */
static u64 step_end_ns(u32 step)
{
	return (QUEUE_STEPS + step % QUEUE_STEPS) << (QUEUE_FIRST_OCTAVE - 3ull + step / QUEUE_STEPS);
}

static void add_length(struct queue_lengths *lengths, u64 ns)
{
	lengths->count++;
	lengths->sum_ns += ns;
	if (ns > lengths->longest_ns)
		lengths->longest_ns = ns;
	lengths->counts[step_of(ns)]++;
}

static void add_wait(struct queue_waits *waits, u64 from_ns, u64 to_ns, const struct lane_moment *wait)
{
	u64 at_ns = wait->at_ns > from_ns ? wait->at_ns : from_ns;
	u32 column;

	if (wait->at_ns >= to_ns || wait->at_ns + wait->length_ns <= from_ns)
		return;
	column = (u32)((double)(at_ns - from_ns) / (double)(to_ns - from_ns) * waits->columns);
	if (column >= waits->columns)
		column = waits->columns - 1;
	waits->cells[(size_t)column * QUEUE_ROWS + row_of(wait->length_ns)]++;
	add_length(&waits->all, wait->length_ns);
	if (wait->group < waits->group_count)
		add_length(&waits->groups[wait->group], wait->length_ns);
}

/* Did what came before lead straight into it? */
static bool follows(const struct lane_moment *wait, const struct lane_moment *before)
{
	return before->reason == REASON_RUN_QUEUE && before->at_ns + before->length_ns + NEXT_NS > wait->at_ns;
}

void queue_waits_add(struct queue_waits *waits, u64 from_ns, u64 to_ns, const struct lane_moment *moments, u32 count)
{
	for (u32 i = 0; i < count; i++) {
		struct lane_moment wait = moments[i];

		if (wait.reason != REASON_RUN_QUEUE)
			continue;
		for (; i + 1 < count && follows(&wait, &moments[i + 1]); i++) {
			wait.at_ns = moments[i + 1].at_ns;
			wait.length_ns += moments[i + 1].length_ns;
		}
		add_wait(waits, from_ns, to_ns, &wait);
	}
}

u64 queue_lengths_percentile(const struct queue_lengths *lengths, double percent)
{
	double wanted = (double)lengths->count * percent / 100;
	u64 below = 0, ns;

	for (u32 step = 0; step < QUEUE_COUNTS; step++) {
		below += lengths->counts[step];
		if (!below || (double)below < wanted)
			continue;
		ns = step_end_ns(step);
		return ns < lengths->longest_ns ? ns : lengths->longest_ns;
	}
	return lengths->longest_ns;
}
