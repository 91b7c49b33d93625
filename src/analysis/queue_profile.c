// SPDX-License-Identifier: Apache-2.0
#include "analysis/queue_profile.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "analysis/owner.h"
#include "base/array.h"
#include "profile/any.h"

#define PARTS_MAX (1u << 24)	/* a recording has 4 million at most, several together more */

struct reading {
	const struct profile *profile;
	struct queue_profile *queue;
	struct frame_set threads;
	struct owner_finder *thread_finder, *owner_finder;
	u8 *reason_of;			/* by attribute, + 1; 0: it tells of none */
	struct lane_moment *moments;
	u32 count, cap;
};

static void reading_done(struct reading *r)
{
	owner_finder_free(r->thread_finder);
	owner_finder_free(r->owner_finder);
	frame_set_done(&r->threads);
	free(r->reason_of);
	free(r->moments);
}

static int reading_begin(struct reading *r, enum summary_by by)
{
	const struct profile *profile = r->profile;

	frame_set_init(&r->threads, profile_seed(profile));
	r->thread_finder = owner_finder_new(profile, SUMMARY_THREAD, &r->threads);
	r->owner_finder = owner_finder_new(profile, by, &r->queue->owners);
	r->reason_of = array_calloc((size_t)profile->attributes.count + 1, 1);
	if (!r->thread_finder || !r->owner_finder || !r->reason_of)
		return -ENOMEM;
	for (u32 i = 0; i < profile->attributes.count; i++)
		if (str_is(profile->strings.at[profile->attributes.at[i].key], "wait.reason"))
			r->reason_of[i] = 1 + (u8)wait_reason_named(any_text(&profile->attributes.at[i].value));
	return 0;
}

static enum wait_reason reason_of(const struct reading *r, const struct profile_sample *sample)
{
	for (u32 i = 0; i < sample->attributes.count; i++)
		if (r->reason_of[sample->attributes.at[i]])
			return r->reason_of[sample->attributes.at[i]] - 1;
	return REASON_NONE;
}

static int read_sample(struct reading *r, const struct profile_sample *sample)
{
	struct lane_moment moment = { .reason = reason_of(r, sample) };
	u32 count = sample->value_count < sample->time_count ? sample->value_count : sample->time_count, group;
	int e = 0;

	moment.lane = owner_finder_frame(r->thread_finder, sample);
	group = owner_finder_frame(r->owner_finder, sample);
	if (moment.lane == FRAMES_NONE || group == FRAMES_NONE)
		return -ENOMEM;
	moment.group = group < LANE_NO_GROUP ? group : LANE_NO_GROUP;
	for (u32 i = 0; i < count && e == 0; i++) {
		if (sample->values[i] <= 0)
			continue;
		moment.at_ns = sample->times_unix_ns[i];
		moment.length_ns = (u64)sample->values[i];
		e = array_grow(&r->moments, &r->cap, r->count, PARTS_MAX, sizeof(*r->moments));
		if (e == 0)
			r->moments[r->count++] = moment;
	}
	return e;
}

static int read_set(struct reading *r, const struct profile_set *set)
{
	int e = 0;

	if (!str_is(r->profile->strings.at[set->sample_type.type], "lanes"))
		return 0;
	r->queue->has_lanes = true;
	for (u32 i = 0; i < set->sample_count && e == 0; i++)
		e = read_sample(r, &set->samples[i]);
	return e;
}

static int read_profile(struct reading *r)
{
	int e = 0;

	for (u32 i = 0; i < r->profile->resources.count; i++) {
		const struct profile_resource *resource = &r->profile->resources.at[i];

		owner_finder_resource(r->thread_finder, resource);
		owner_finder_resource(r->owner_finder, resource);
		for (u32 j = 0; j < resource->scope_count; j++)
			for (u32 k = 0; k < resource->scopes[j].set_count && e == 0; k++)
				e = read_set(r, &resource->scopes[j].sets[k]);
	}
	return e;
}

static int compare_moments(const void *a, const void *b)
{
	const struct lane_moment *x = a, *y = b;

	if (x->lane != y->lane)
		return x->lane < y->lane ? -1 : 1;
	return (x->at_ns < y->at_ns) - (x->at_ns > y->at_ns);
}

static int compare_groups(const void *a, const void *b, void *arg)
{
	const struct queue_lengths *groups = arg, *x = &groups[*(const u32 *)a], *y = &groups[*(const u32 *)b];

	if (x->sum_ns != y->sum_ns)
		return x->sum_ns > y->sum_ns ? -1 : 1;
	return *(const u32 *)a < *(const u32 *)b ? -1 : 1;
}

static int count_waits(struct reading *r)
{
	struct queue_profile *queue = r->queue;
	int e = queue_waits_init(&queue->waits, 1, queue->owners.table.count);

	queue->order = array_calloc((size_t)queue->waits.group_count + 1, sizeof(*queue->order));
	if (e < 0 || !queue->order)
		return -ENOMEM;
	if (r->count)
		qsort(r->moments, r->count, sizeof(*r->moments), compare_moments);
	for (u32 i = 0, end; i < r->count; i = end) {
		for (end = i; end < r->count && r->moments[end].lane == r->moments[i].lane;)
			end++;
		queue_waits_add(&queue->waits, 0, UINT64_MAX, &r->moments[i], end - i);
	}
	for (u32 i = 0; i < queue->waits.group_count; i++)
		if (queue->waits.groups[i].count)
			queue->order[queue->order_count++] = i;
	qsort_r(queue->order, queue->order_count, sizeof(*queue->order), compare_groups, queue->waits.groups);
	return 0;
}

int queue_profile_new(const struct profile *profile, enum summary_by by, struct queue_profile **ret_queue)
{
	_cleanup_(queue_profile_freep) struct queue_profile *queue = calloc(1, sizeof(*queue));
	_cleanup_(reading_done) struct reading r = { .profile = profile, .queue = queue };
	int e;

	if (!queue)
		return -ENOMEM;
	frame_set_init(&queue->owners, profile_seed(profile));
	e = reading_begin(&r, by);
	if (e == 0)
		e = read_profile(&r);
	if (e == 0)
		e = count_waits(&r);
	if (e == 0)
		*ret_queue = TAKE(queue);
	return e;
}

void queue_profile_free(struct queue_profile *queue)
{
	if (!queue)
		return;
	queue_waits_done(&queue->waits);
	frame_set_done(&queue->owners);
	free(queue->order);
	free(queue);
}
