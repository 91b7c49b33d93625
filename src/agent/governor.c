// SPDX-License-Identifier: Apache-2.0
#include "agent/governor.h"

#include <string.h>

#define NOTES_IN_SPAN 60
#define PAUSES_IN_SPAN 12
#define NEAR 0.6		/* of the limit */
#define ROOM 0.5
#define FAR 2			/* times the limit */
#define SERVICE_PART 0.5

static const struct {
	struct governor_lowered lowered;
	const char *text;
} steps[] = {
#define X(id, rest, every, frames_max, text) { { rest, every, frames_max }, text },
	GOVERNOR_STEPS(X)
#undef X
};

struct governor_lowered governor_lowered(enum governor_step step)
{
	return steps[step].lowered;
}

const char *governor_text(u64 step)
{
	return step < GOVERNOR_STEP_COUNT ? steps[step].text : "";
}

double governor_default(u32 cpus)
{
	return cpus > 16 ? cpus / 16.0 / 100 : 0.01;
}

void governor_init(struct governor *g, double limit, u64 span_ns, u64 now_ns)
{
	*g = (struct governor){ .limit = limit, .span_ns = span_ns, .start_ns = now_ns, .changed_ns = now_ns };
}

static const struct governor_note *last(const struct governor *g)
{
	return &g->notes[g->count - 1];
}

/* What the time before the last note used, as CPUs; of less than that time, as if the rest had used nothing. */
static double used_in(const struct governor *g, u64 span_ns, double service_max)
{
	const struct governor_note *first = last(g);
	double service;

	while (first > g->notes && last(g)->at_ns - first->at_ns < span_ns)
		first--;
	if (last(g)->at_ns - first->at_ns > span_ns)
		span_ns = last(g)->at_ns - first->at_ns;
	service = (double)(last(g)->service_ns - first->service_ns) / (double)span_ns;
	return (double)(last(g)->own_ns - first->own_ns) / (double)span_ns +
	       (service < service_max ? service : service_max);
}

double governor_used(const struct governor *g)
{
	return g->count ? used_in(g, g->span_ns, 1e9) : 0;
}

static double charged_in(const struct governor *g, u64 span_ns)
{
	return used_in(g, span_ns, g->limit * SERVICE_PART);
}

static void add_note(struct governor *g, const struct governor_note *note)
{
	if (g->count == GOVERNOR_NOTES)
		memmove(g->notes, g->notes + 1, --g->count * sizeof(*g->notes));
	g->notes[g->count++] = *note;
}

/* What was before the last step need not be paid for by another. */
static u32 steps_down(const struct governor *g, u64 pause_ns)
{
	double lately = charged_in(g, pause_ns), all = charged_in(g, g->span_ns);
	u32 left = GOVERNOR_STEP_COUNT - 1 - g->step;

	if (lately <= g->limit || all <= g->limit * NEAR)
		return 0;
	return lately > g->limit * FAR && left > 1 ? 2 : left > 0;
}

bool governor_note(struct governor *g, const struct governor_note *note)
{
	u64 pause_ns = g->span_ns / PAUSES_IN_SPAN;
	enum governor_step before = g->step;

	if (note->at_ns - g->start_ns < g->span_ns ||
	    (g->count && note->at_ns - last(g)->at_ns < g->span_ns / NOTES_IN_SPAN))
		return false;
	add_note(g, note);
	if (g->limit <= 0 || note->at_ns - g->changed_ns < pause_ns)
		return false;
	g->step += steps_down(g, pause_ns);
	if (g->step == before && g->step && note->at_ns - g->changed_ns >= g->span_ns &&
	    charged_in(g, g->span_ns) < g->limit * ROOM)
		g->step--;
	if (g->step == before)
		return false;
	g->changed_ns = note->at_ns;
	return true;
}
