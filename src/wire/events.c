// SPDX-License-Identifier: Apache-2.0
#include "wire/events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "kinds/waits.h"
#include "profile/any.h"
#include "analysis/owner.h"
#include "profile/table.h"

struct collector {
	struct event_list *events;
	const struct profile *profile;
	struct str type;
	bool has_reasons;
	struct owner_finder *threads, *processes;
};

static void collector_done(struct collector *c)
{
	owner_finder_free(c->threads);
	owner_finder_free(c->processes);
}

/* ---- Collecting ---------------------------------------------------------------------- */

/* Frames of threads are numbered as they are met, and so are ours. */
static int find_thread(struct collector *c, const struct profile_sample *sample, u32 *ret_thread)
{
	struct event_list *e = c->events;
	u32 thread = owner_finder_frame(c->threads, sample), process = owner_finder_frame(c->processes, sample);
	const struct frame *frame;
	int r;

	if (thread == FRAMES_NONE || process == FRAMES_NONE)
		return -ENOMEM;
	*ret_thread = thread;
	if (thread < e->thread_count)
		return 0;
	r = array_grow(&e->threads, &e->thread_cap, e->thread_count, PROFILE_TABLE_MAX, sizeof(*e->threads));
	if (r < 0)
		return r;
	frame = frame_set_at(&e->thread_frames, thread);
	e->threads[e->thread_count++] = (struct events_thread){
		.name = frame->name, .process = frame_set_at(&e->process_frames, process)->name, .pid = frame->pid,
		.tid = frame->tid,
	};
	return 0;
}

static int add_event(struct event_list *e, struct event event)
{
	int r = array_grow(&e->at, &e->cap, e->count, EVENTS_MAX, sizeof(*e->at));

	if (r < 0)
		return r;
	e->at[e->count++] = event;
	e->threads[event.thread].count++;
	return 0;
}

static int add_sample(struct collector *c, const struct profile_set *set, const struct profile_sample *sample)
{
	struct event event = { .stack = sample->stack };
	int r = find_thread(c, sample, &event.thread);

	if (c->has_reasons)
		event.reason = wait_reason_named(any_text(profile_attribute_find(c->profile, sample->attributes,
										 "wait.reason")));
	for (u32 i = 0; i < sample->time_count && r == 0; i++) {
		event.time_ns = sample->times_unix_ns[i];
		event.value = profile_sample_value_at(sample, i);
		if (event.value)
			r = add_event(c->events, event);
	}
	if (sample->time_count || r < 0)
		return r;
	event.time_ns = set->time_unix_ns;
	event.value = profile_sample_value(sample);
	return event.value ? add_event(c->events, event) : 0;
}

static int add_set(struct collector *c, const struct profile_set *set)
{
	struct event_list *e = c->events;
	struct str unit = c->profile->strings.at[set->sample_type.unit];
	int r = 0;

	if (!str_equal(c->profile->strings.at[set->sample_type.type], c->type) ||
	    (e->count && !str_equal(unit, e->unit)))
		return 0;
	e->unit = unit;
	if (!e->period_ns)
		e->period_ns = (u64)profile_set_period_ns(c->profile, set);
	for (u32 i = 0; i < set->sample_count && r == 0; i++)
		r = add_sample(c, set, &set->samples[i]);
	return r;
}

static int collect(struct collector *c)
{
	int r = 0;

	for (u32 i = 0; i < c->profile->resources.count; i++) {
		const struct profile_resource *resource = &c->profile->resources.at[i];

		owner_finder_resource(c->threads, resource);
		owner_finder_resource(c->processes, resource);
		for (u32 s = 0; s < resource->scope_count; s++)
			for (u32 k = 0; k < resource->scopes[s].set_count && r == 0; k++)
				r = add_set(c, &resource->scopes[s].sets[k]);
	}
	return r;
}

/* ---- Order --------------------------------------------------------------------------- */

static int compare_events(const void *left, const void *right)
{
	const struct event *a = left, *b = right;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return (a->stack > b->stack) - (a->stack < b->stack);
}

static void put_in_order(struct event_list *e)
{
	u32 first = 0;

	if (e->count)
		qsort(e->at, e->count, sizeof(*e->at), compare_events);
	for (u32 i = 0; i < e->thread_count; i++) {
		e->threads[i].first = first;
		first += e->threads[i].count;
	}
	for (u32 i = 0; i < e->count; i++)
		if (!i || e->at[i].time_ns < e->start_unix_ns)
			e->start_unix_ns = e->at[i].time_ns;
	for (u32 i = 0; i < e->count; i++)
		e->at[i].time_ns -= e->start_unix_ns;
}

int events_init(struct event_list *events, const struct profile *profile, const char *type)
{
	_cleanup_(collector_done) struct collector c = {
		.events = events, .profile = profile, .type = { type, (u32)strlen(type) }
	};
	int r;

	c.has_reasons = str_equal(c.type, STR(EVENTS_LANES));
	*events = (struct event_list){ .type = c.type };
	frame_set_init(&events->thread_frames, profile_seed(profile));
	frame_set_init(&events->process_frames, profile_seed(profile));
	c.threads = owner_finder_new(profile, SUMMARY_THREAD, &events->thread_frames);
	c.processes = owner_finder_new(profile, SUMMARY_PROCESS, &events->process_frames);
	if (!c.threads || !c.processes)
		return -ENOMEM;
	r = collect(&c);
	if (r == 0)
		put_in_order(events);
	return r;
}

void events_done(struct event_list *events)
{
	free(events->at);
	free(events->threads);
	frame_set_done(&events->thread_frames);
	frame_set_done(&events->process_frames);
}
