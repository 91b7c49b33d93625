// SPDX-License-Identifier: Apache-2.0
#include "profile/clip.h"

#include "base/arena.h"
#include "profile/merge.h"

#define VIEW_BYTES_MAX ((size_t)1 << 30)

/* The profile with other resources: their scopes, sets and samples are copies in the arena, all else is its own. */
struct view {
	const struct clip *clip;
	struct profile profile;
	struct arena arena;
};

static void view_done(struct view *v)
{
	arena_done(&v->arena);
}

static bool is_within(const struct clip *clip, u64 time_unix_ns)
{
	return time_unix_ns >= clip->start_unix_ns && time_unix_ns < clip->end_unix_ns;
}

static bool takes_resource(const struct clip *clip, const struct profile_resource *resource)
{
	const struct any *pid;

	if (!clip->pid)
		return true;
	pid = keyvalue_find(resource->attributes, resource->attribute_count, "process.pid");
	return pid && pid->kind == ANY_INT && pid->integer == clip->pid;
}

/* The times within, and the values that go with them; one value for many times is cut to their share. */
static bool clip_sample(struct view *v, struct profile_sample *sample)
{
	u64 *times = arena_alloc(&v->arena, sample->time_count * sizeof(*times));
	bool pairs = sample->value_count > 1 || (sample->value_count && sample->time_count == 1);
	s64 *values = arena_alloc(&v->arena, (sample->value_count ? sample->time_count : 0) * sizeof(*values));
	u32 count = 0;

	for (u32 i = 0; times && values && i < sample->time_count; i++) {
		if (!is_within(v->clip, sample->times_unix_ns[i]))
			continue;
		if (pairs)
			values[count] = sample->values[i];
		times[count++] = sample->times_unix_ns[i];
	}
	if (!count)
		return false;
	if (pairs) {
		sample->value_count = count;
	} else if (sample->value_count) {
		values[0] = (s64)((__int128)sample->values[0] * count / sample->time_count);
	}
	sample->values = values;
	sample->times_unix_ns = times;
	sample->time_count = count;
	return true;
}

static void clip_set(struct view *v, const struct profile_set *from, struct profile_set *to)
{
	*to = *from;
	to->samples = arena_alloc(&v->arena, from->sample_count * sizeof(*to->samples));
	to->sample_count = 0;
	to->time_unix_ns = v->clip->start_unix_ns;
	to->duration_ns = v->clip->end_unix_ns - v->clip->start_unix_ns;
	for (u32 i = 0; to->samples && i < from->sample_count; i++) {
		struct profile_sample *sample = &to->samples[to->sample_count];

		*sample = from->samples[i];
		to->sample_count += sample->time_count ? clip_sample(v, sample) :
							 is_within(v->clip, from->time_unix_ns);
	}
}

static void clip_scope(struct view *v, const struct profile_scope *from, struct profile_scope *to)
{
	*to = *from;
	to->sets = arena_alloc(&v->arena, from->set_count * sizeof(*to->sets));
	to->set_count = 0;
	for (u32 i = 0; to->sets && i < from->set_count; i++) {
		clip_set(v, &from->sets[i], &to->sets[to->set_count]);
		to->set_count += to->sets[to->set_count].sample_count > 0;
	}
}

/* False: nothing is left of it. */
static bool clip_resource(struct view *v, const struct profile_resource *from, struct profile_resource *to)
{
	bool has_sets = false;

	*to = *from;
	to->scopes = arena_alloc(&v->arena, from->scope_count * sizeof(*to->scopes));
	to->scope_count = to->scopes ? from->scope_count : 0;
	for (u32 i = 0; i < to->scope_count; i++) {
		clip_scope(v, &from->scopes[i], &to->scopes[i]);
		has_sets |= to->scopes[i].set_count > 0;
	}
	return has_sets;
}

int clip_merge(const struct profile *profile, const struct clip *clip, struct merger *into)
{
	_cleanup_(view_done) struct view v = { .clip = clip, .profile = *profile };
	u32 count = profile->resources.count;
	int r;

	arena_init(&v.arena, VIEW_BYTES_MAX);
	v.profile.resources.count = 0;
	v.profile.resources.at = arena_alloc(&v.arena, count * sizeof(*v.profile.resources.at));
	for (u32 i = 0; v.profile.resources.at && i < count; i++) {
		struct profile_resource *to = &v.profile.resources.at[v.profile.resources.count];

		if (takes_resource(clip, &profile->resources.at[i]))
			v.profile.resources.count += clip_resource(&v, &profile->resources.at[i], to);
	}
	r = arena_err(&v.arena);
	return r < 0 ? r : merger_add(into, &v.profile);
}
