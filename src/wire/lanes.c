// SPDX-License-Identifier: Apache-2.0
#include "wire/lanes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "wire/sample_types.h"

static void add_part(struct lanes *lanes, struct lane *lane, const struct event *event)
{
	struct lane_part *last = lane->count ? &lanes->parts[lane->first + lane->count - 1] : NULL;
	u64 start_ns = lanes->events.start_unix_ns + event->time_ns, end_ns = start_ns + (u64)event->value;

	if (event->value <= 0 || end_ns < start_ns)
		return;
	if (last && start_ns < last->end_ns)
		start_ns = last->end_ns;
	if (end_ns <= start_ns)
		return;
	if (last && last->end_ns == start_ns && last->reason == event->reason)
		last->end_ns = end_ns;
	else
		lanes->parts[lane->first + lane->count++] = (struct lane_part){ start_ns, end_ns, event->reason,
										event->stack };
}

/* Parts are never more than events, and those of a thread lie together: theirs go to the same place. */
static void add_lane(struct lanes *lanes, const struct events_thread *thread)
{
	struct lane *lane = &lanes->at[lanes->count++];

	*lane = (struct lane){ .name = thread->name, .process = thread->process, .pid = thread->pid,
			       .tid = thread->tid, .first = thread->first };
	for (u32 i = 0; i < thread->count; i++)
		add_part(lanes, lane, &lanes->events.at[thread->first + i]);
}

static int compare_names(struct str a, struct str b)
{
	int order = memcmp(a.at, b.at, a.len < b.len ? a.len : b.len);

	return order ? order : (a.len > b.len) - (a.len < b.len);
}

static int compare_lanes(const void *left, const void *right)
{
	const struct lane *a = left, *b = right;

	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	return compare_names(a->name, b->name);
}

int lanes_init(struct lanes *lanes, const struct profile *profile)
{
	int r;

	*lanes = (struct lanes){ 0 };
	r = events_init(&lanes->events, profile, EVENTS_LANES);
	if (r < 0)
		return r;
	lanes->parts = calloc((size_t)lanes->events.count + 1, sizeof(*lanes->parts));
	lanes->at = calloc((size_t)lanes->events.thread_count + 1, sizeof(*lanes->at));
	if (!lanes->parts || !lanes->at)
		return -ENOMEM;
	lanes->start_ns = lanes->events.start_unix_ns;
	for (u32 i = 0; i < lanes->events.thread_count; i++)
		add_lane(lanes, &lanes->events.threads[i]);
	if (lanes->count)
		qsort(lanes->at, lanes->count, sizeof(*lanes->at), compare_lanes);
	return 0;
}

void lanes_done(struct lanes *lanes)
{
	events_done(&lanes->events);
	free(lanes->parts);
	free(lanes->at);
}

const struct lane *lanes_take(struct lanes *lanes, const struct events_thread *thread)
{
	struct lane key = { .name = thread->name, .pid = thread->pid, .tid = thread->tid };
	struct lane *lane = NULL;

	if (lanes->count)
		lane = bsearch(&key, lanes->at, lanes->count, sizeof(*lanes->at), compare_lanes);
	if (!lane || lane->is_taken)
		return NULL;
	lane->is_taken = true;
	return lane;
}

u64 lanes_begin_ns(const struct lanes *lanes, const struct event_list *events)
{
	if (!events->count || (lanes->count && lanes->start_ns < events->start_unix_ns))
		return lanes->start_ns;
	return events->start_unix_ns;
}

const char *lane_part_name(const struct lane_part *part)
{
	return part->reason == REASON_NONE ? "running" : wait_reason_text(part->reason);
}

const char *lanes_other_type(const struct sample_types *types)
{
	for (u32 i = 0; i < types->count; i++)
		if (strcmp(types->at[i], EVENTS_LANES))
			return types->at[i];
	return "";
}
