// SPDX-License-Identifier: Apache-2.0
#include "agent/governor.h"

#include <string.h>

#define NOTES_IN_SPAN 60
#define PAUSES_IN_SPAN 12
#define NEAR 0.6		/* of the limit */
#define ROOM 0.5
#define FULL 0.9
#define FREE 0.8		/* again, after a rest */
#define NOTES_WHEN_NEAR 1200	/* in a span */
#define NOTES_USUALLY 300
#define DUE_NS_MIN 25000000ull
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

/* What the time before the last note used, as CPUs; of less than that time, as if the rest had used nothing. */
static double used_in(const struct governor *g, u64 span_ns, double service_max)
{
	const struct governor_note *first = &g->now;
	double service;

	for (u32 i = g->count; i > 0 && g->now.at_ns - first->at_ns < span_ns; i--)
		first = &g->notes[i - 1];
	if (g->now.at_ns - first->at_ns > span_ns)
		span_ns = g->now.at_ns - first->at_ns;
	service = (double)(g->now.service_ns - first->service_ns) / (double)span_ns;
	return (double)(g->now.own_ns - first->own_ns) / (double)span_ns +
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
	g->now = *note;
	if (g->count && note->at_ns - g->notes[g->count - 1].at_ns < g->span_ns / NOTES_IN_SPAN)
		return;
	if (g->count == GOVERNOR_NOTES)
		memmove(g->notes, g->notes + 1, --g->count * sizeof(*g->notes));
	g->notes[g->count++] = *note;
}

/* What was before the last step need not be paid for by another. */
static u32 steps_down(const struct governor *g, u64 pause_ns)
{
	double lately = charged_in(g, pause_ns), all = charged_in(g, g->span_ns);
	u32 left = GOVERNOR_REST - 1 - g->step;

	if (lately <= g->limit || all <= g->limit * NEAR)
		return 0;
	return lately > g->limit * FAR && left > 1 ? 2 : left > 0;
}

static void choose_step(struct governor *g)
{
	u64 pause_ns = g->span_ns / PAUSES_IN_SPAN, since_ns = g->now.at_ns - g->changed_ns;
	enum governor_step before = g->step;

	if (since_ns < pause_ns)
		return;
	g->step += steps_down(g, pause_ns);
	if (g->step == before && g->step && since_ns >= g->span_ns && charged_in(g, g->span_ns) < g->limit * ROOM)
		g->step--;
	if (g->step != before)
		g->changed_ns = g->now.at_ns;
}

/* A step that ends in a rest, though it had its time, is not enough: the next one is tried after it. */
static void choose_rest(struct governor *g)
{
	u64 pause_ns = g->span_ns / PAUSES_IN_SPAN, since_ns = g->now.at_ns - g->changed_ns;
	double all = charged_in(g, g->span_ns);

	if (g->rests) {
		g->rests = all > g->limit * FREE || since_ns < pause_ns;
	} else if (all > g->limit * FULL) {
		g->rests = true;
		g->step += since_ns >= pause_ns && g->step < GOVERNOR_REST - 1;
		g->changed_ns = g->now.at_ns;
	}
}

enum governor_step governor_step(const struct governor *g)
{
	return g->rests ? GOVERNOR_REST : g->step;
}

u64 governor_due_ns(const struct governor *g)
{
	bool near = g->limit > 0 && g->count && !g->rests && charged_in(g, g->span_ns) > g->limit * ROOM;

	u64 due_ns = g->span_ns / (near ? NOTES_WHEN_NEAR : NOTES_USUALLY);

	return due_ns > DUE_NS_MIN ? due_ns : DUE_NS_MIN;	/* looking costs something, too */
}

bool governor_note(struct governor *g, const struct governor_note *note)
{
	enum governor_step before = governor_step(g);

	if (note->at_ns - g->start_ns < g->span_ns)
		return false;
	add_note(g, note);
	if (g->limit <= 0)
		return false;
	choose_step(g);
	choose_rest(g);
	return governor_step(g) != before;
}
