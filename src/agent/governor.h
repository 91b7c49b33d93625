/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps what wick costs within a limit of CPU time over any span, a minute unless told otherwise: who measures tells it
 * what was used, and it says what is to be left out, one step after the other, and when that may be taken up again.
 *
 *  - A span that has used almost all of its limit ends in a rest, whatever the step: until older use is out of the span
 *    nothing is done but to count time. So the limit holds for certain; steps choose what is best done with it.
 *  - It goes a step down, or two where that is far off, when a span has used much of its limit and its last twelfth
 *    more than its share, and not again for a twelfth; up when a span used less than half of the limit, and not again
 *    for a span.
 *  - The first span does not count: what there is has to be found out about once.
 *  - What the service uses counts as half of the limit at most: it works for whoever asks and sends, and they are not
 *    to stop sampling.
 *
 * Without a clock of its own. One thread.
 */
#ifndef AGENT_GOVERNOR_H
#define AGENT_GOVERNOR_H

#include <stdbool.h>

#include "abi.h"
#include "base/types.h"
#include "exe/background_reader.h"

/*
 * id; who reads files rests so many times as long as that took; of so many ticks one is taken; frames of a stack at
 * most, 0: all; what is said of it.
 */
#define GOVERNOR_STEPS(X)                                                                                      \
	X(ALL, 0, 1, 0, "everything is sampled and named")                                                     \
	X(FILES, 15, 1, 0, "files of new programs are read slowly: their stacks and names come later")         \
	X(NAMES, 30, 1, 0, "files are read slowly, names come late, lines and inlined functions are not looked for") \
	X(DEPTH, 100, 1, 128, "files are read slowly, names come late, lines not at all, stacks are cut after " \
	  "about 128 frames")                                                                                  \
	X(HALF, 200, 2, 128, "one of 2 samples is taken, and counts twice; stacks are cut after about 128 "     \
	  "frames, names come late")                                                                           \
	X(QUARTER, 200, 4, 128, "one of 4 samples is taken, and counts for all; stacks are cut after about 128 " \
	  "frames, names come late")                                                                           \
	X(EIGHTH, 200, 8, 128, "one of 8 samples is taken, and counts for all; stacks are cut after about 128 " \
	  "frames, names come late")                                                                           \
	X(SIXTEENTH, 200, 16, 128, "one of 16 samples is taken, and counts for all; stacks are cut after about 128 " \
	  "frames, names come late")                                                                           \
	X(THIRTY_SECOND, 200, 32, 128, "one of 32 samples is taken, and counts for all; stacks are cut after about " \
	  "128 frames, names come late")                                                                       \
	X(REST, BACKGROUND_NO_JOBS, 16, STACKS_NONE, "the budget is used up: time of processes is counted, by one of " \
	  "16 samples, but no stacks are taken; mappings are read from /proc again where too many changed meanwhile")

enum governor_step {
#define X(id, rest, every, frames_max, text) GOVERNOR_##id,
	GOVERNOR_STEPS(X)
#undef X
	GOVERNOR_STEP_COUNT,
};

#define GOVERNOR_SPAN_NS 60000000000ull
#define GOVERNOR_NOTES 64

struct governor_note {
	u64 at_ns;
	u64 own_ns;		/* all that sampling has used since the beginning, with the kernel's half */
	u64 service_ns;		/* ... the service */
};

struct governor {
	double limit;			/* CPUs: 0.01 is a hundredth of one; 0: none, it only measures */
	u64 span_ns;
	enum governor_step step;	/* but for a rest */
	bool rests;
	u64 start_ns, changed_ns;
	struct governor_note now;	/* the last one */
	struct governor_note notes[GOVERNOR_NOTES];	/* some of the last span and a bit, oldest first */
	u32 count;
};

void governor_init(struct governor *governor, double limit, u64 span_ns, u64 now_ns);

/* As often as governor_due_ns() says. True if the step has changed. */
bool governor_note(struct governor *governor, const struct governor_note *note);

/* What is left out now. */
enum governor_step governor_step(const struct governor *governor);

/* In how long the next note should come: soon, where much of the limit is used, or it would be past it unseen. */
u64 governor_due_ns(const struct governor *governor);

/* CPUs, over the last span: all that was used. */
double governor_used(const struct governor *governor);

struct governor_lowered {
	u32 rest_times, every, frames_max;
};
struct governor_lowered governor_lowered(enum governor_step step);

/* "" for a number that is none. */
const char *governor_text(u64 step);

/* A hundredth of a CPU for each 16 there are, and one at least. */
double governor_default(u32 cpus);

#endif
