// SPDX-License-Identifier: Apache-2.0
#include "exporters/pyroscope_shape.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "profile/any.h"
#include "profile/append.h"
#include "profile/merge.h"
#include "profile/nameless.h"
#include "profile/profile.h"
#include "profile/split.h"

#define VIEW_BYTES_MAX ((size_t)1 << 30)
#define PIECE_SHIFT_NS 1000000ull	/* Pyroscope compares times in milliseconds */

/* ---- Too old, too new --------------------------------------------------------------------- */

static bool is_old(const struct profile_set *set, const struct pyroscope_shape_options *options, u64 now)
{
	return options->max_age_ns && set->time_unix_ns && set->time_unix_ns + (u64)options->max_age_ns < now;
}

static bool is_early(const struct profile_set *set, const struct pyroscope_shape_options *options, u64 now)
{
	return options->max_ahead_ns && set->time_unix_ns > now + (u64)options->max_ahead_ns;
}

/* ---- A view: the same tables, other resources --------------------------------------------- */

/*
 * What is taken of a profile. Resources, scopes, sets and samples are copies in the arena, so that they can be
 * changed; what they point to is the profile's.
 */
struct view {
	struct profile profile;
	struct arena arena;
	/* Shaping. NULL: only what is picked changes. */
	const struct pyroscope_shape_options *options;
	u64 now;
	struct pyroscope_shape_losses losses;
	bool *keeps;		/* by attribute: samples keep it */
	bool keeps_any;
	/* Picking. */
	const u8 *picked;
	u32 series;
};

static void view_done(struct view *v)
{
	arena_done(&v->arena);
}

static void view_init(struct view *v, const struct profile *from)
{
	*v = (struct view){ .profile = *from };
	arena_init(&v->arena, VIEW_BYTES_MAX);
	v->profile.resources.at = NULL;
	v->profile.resources.count = 0;
}

static bool takes_set(struct view *v, const struct profile_set *set)
{
	u32 i;

	if (!set->sample_count)
		return false;
	i = v->series++;
	if (v->picked)
		return v->picked[i / 8] >> i % 8 & 1;
	if (is_old(set, v->options, v->now))
		v->losses.old_samples += set->sample_count;
	else if (is_early(set, v->options, v->now))
		v->losses.early_samples += set->sample_count;
	else
		return true;
	return false;
}

static void filter_attributes(struct view *v, struct profile_sample *sample)
{
	u32 *list = v->keeps_any ? arena_alloc(&v->arena, sample->attributes.count * sizeof(*list)) : NULL;
	u32 count = 0;

	for (u32 i = 0; list && i < sample->attributes.count; i++) {
		if (v->keeps[sample->attributes.at[i]])
			list[count++] = sample->attributes.at[i];
	}
	sample->attributes = (struct indices){ list, count };
}

static void view_set(struct view *v, const struct profile_set *from, struct profile_set *to)
{
	*to = *from;
	if (v->picked)
		return;
	to->samples = arena_alloc(&v->arena, from->sample_count * sizeof(*to->samples));
	to->sample_count = 0;
	to->attributes = (struct indices){ NULL, 0 };
	to->original_format = to->original_payload = (struct str){ 0 };
	for (u32 i = 0; to->samples && i < from->sample_count; i++) {
		struct profile_sample *sample = &to->samples[to->sample_count];

		*sample = from->samples[i];
		if (!sample->value_count && !sample->time_count)
			continue;
		filter_attributes(v, sample);
		to->sample_count++;
	}
}

static void view_scope(struct view *v, const struct profile_scope *from, struct profile_scope *to)
{
	*to = *from;
	to->sets = arena_alloc(&v->arena, from->set_count * sizeof(*to->sets));
	to->set_count = 0;
	for (u32 i = 0; to->sets && i < from->set_count; i++) {
		if (takes_set(v, &from->sets[i]))
			view_set(v, &from->sets[i], &to->sets[to->set_count++]);
	}
	if (v->picked)
		return;
	v->losses.attributes += from->attribute_count;
	to->attributes = NULL;
	to->attribute_count = 0;
}

static void view_labels(struct view *v, struct profile_resource *resource)
{
	struct pyroscope_labels labels;

	pyroscope_labels_of(resource, v->options->service, v->options->per_process, &v->arena, &labels);
	v->losses.attributes += labels.dropped;
	resource->attributes = arena_copy(&v->arena, labels.at, labels.count * sizeof(*labels.at));
	resource->attribute_count = resource->attributes ? labels.count : 0;
}

static bool view_resource(struct view *v, const struct profile_resource *from, struct profile_resource *to)
{
	bool has_sets = false;

	*to = *from;
	to->scopes = arena_alloc(&v->arena, from->scope_count * sizeof(*to->scopes));
	to->scope_count = to->scopes ? from->scope_count : 0;
	for (u32 i = 0; i < to->scope_count; i++) {
		view_scope(v, &from->scopes[i], &to->scopes[i]);
		has_sets |= to->scopes[i].set_count > 0;
	}
	if (has_sets && !v->picked)
		view_labels(v, to);
	return has_sets;
}

static int view_fill(struct view *v, const struct profile *from)
{
	v->profile.resources.at = arena_alloc(&v->arena, from->resources.count * sizeof(*from->resources.at));
	for (u32 i = 0; v->profile.resources.at && i < from->resources.count; i++) {
		struct profile_resource *to = &v->profile.resources.at[v->profile.resources.count];

		if (view_resource(v, &from->resources.at[i], to))
			v->profile.resources.count++;
	}
	return arena_err(&v->arena);
}

/* ---- Shaping ------------------------------------------------------------------------------ */

static int find_kept(struct view *v)
{
	const struct profile *p = &v->profile;
	const struct config_texts *wanted = &v->options->sample_attributes;

	v->keeps = arena_zalloc(&v->arena, p->attributes.count * sizeof(*v->keeps));
	for (u32 i = 0; v->keeps && i < p->attributes.count; i++) {
		struct str key = p->strings.at[p->attributes.at[i].key];

		for (u32 k = 0; k < wanted->count; k++)
			v->keeps[i] |= str_equal(key, (struct str){ wanted->at[k], (u32)strlen(wanted->at[k]) });
		v->keeps_any |= v->keeps[i];
	}
	return arena_err(&v->arena);
}

static u32 without_hyphens(struct profile *profile, u32 text)
{
	struct str from = profile->strings.at[text];
	char *copy;

	if (!from.len || !memchr(from.at, '-', from.len))
		return text;
	copy = profile_alloc(profile, from.len);
	for (u32 i = 0; copy && i < from.len; i++)
		copy[i] = from.at[i] == '-' ? '_' : from.at[i];
	return copy ? profile_add_string(profile, copy, from.len) : text;
}

/* Pyroscope calls a series after its period, but for off_cpu, which it knows without one. */
static void complete_set(struct profile *profile, struct profile_set *set)
{
	set->sample_type.type = without_hyphens(profile, set->sample_type.type);
	if (!set->sample_type.type)
		set->sample_type = (struct profile_type){ profile_add_cstring(profile, "samples"),
							  profile_add_cstring(profile, "count") };
	if (!set->period && !set->period_type.type &&
	    str_equal(profile->strings.at[set->sample_type.type], STR("off_cpu")))
		return;
	if (!set->period_type.type)
		set->period_type = set->sample_type;
	if (!set->period)
		set->period = 1;
}

static int complete(struct profile *profile)
{
	for (u32 k = 0; k < profile->resources.count; k++) {
		struct profile_resource *resource = &profile->resources.at[k];

		for (u32 s = 0; s < resource->scope_count; s++) {
			for (u32 i = 0; i < resource->scopes[s].set_count; i++)
				complete_set(profile, &resource->scopes[s].sets[i]);
		}
	}
	return nameless_name_all(profile);
}

int pyroscope_shape(const struct profile *from, const struct pyroscope_shape_options *options, u64 now_unix_ns,
		    struct profile **ret_profile, struct pyroscope_shape_losses *ret_losses)
{
	_cleanup_(merger_freep) struct merger *merger = NULL;
	_cleanup_(profile_freep) struct profile *shaped = NULL;
	_cleanup_(view_done) struct view v;
	int r;

	view_init(&v, from);
	v.options = options;
	v.now = now_unix_ns;
	r = find_kept(&v);
	if (r == 0)
		r = view_fill(&v, from);
	if (r == 0)
		r = merger_new(0, &merger);
	if (r == 0)
		r = merger_add(merger, &v.profile);
	if (r < 0)
		return r;
	shaped = merger_finish(merger);
	r = complete(shaped);
	if (r == 0)
		r = profile_err(shaped);
	if (r < 0)
		return r;
	*ret_profile = TAKE(shaped);
	*ret_losses = v.losses;
	return 0;
}

/* ---- Series, in order --------------------------------------------------------------------- */

/* Where one is: all sets with samples, one after another. */
struct walk {
	const struct profile *profile;
	u32 resource, scope, set;
};

static const struct profile_set *next_series(struct walk *w)
{
	while (w->resource < w->profile->resources.count) {
		const struct profile_resource *resource = &w->profile->resources.at[w->resource];
		const struct profile_scope *scope = &resource->scopes[w->scope];

		if (w->scope == resource->scope_count) {
			w->resource++;
			w->scope = w->set = 0;
		} else if (w->set == scope->set_count) {
			w->scope++;
			w->set = 0;
		} else if (scope->sets[w->set++].sample_count) {
			return &scope->sets[w->set - 1];
		}
	}
	return NULL;
}

bool pyroscope_is_late(const struct profile *profile, const struct pyroscope_shape_options *options, u64 now_unix_ns)
{
	struct walk walk = { .profile = profile };
	const struct profile_set *set;

	while ((set = next_series(&walk))) {
		if (is_old(set, options, now_unix_ns) || is_early(set, options, now_unix_ns))
			return true;
	}
	return false;
}

const struct profile_set *pyroscope_first_series(const struct profile *profile)
{
	return next_series(&(struct walk){ .profile = profile });
}

u32 pyroscope_series_count(const struct profile *profile)
{
	struct walk walk = { .profile = profile };
	u32 count = 0;

	while (next_series(&walk))
		count++;
	return count;
}

int pyroscope_pick(const struct profile *from, const u8 *picked, struct profile **ret_profile)
{
	_cleanup_(view_done) struct view v;
	int r;

	view_init(&v, from);
	v.picked = picked;
	r = view_fill(&v, from);
	return r < 0 ? r : split_copy(&v.profile, ret_profile);
}

/* ---- Cutting ------------------------------------------------------------------------------ */

static void shift_first(struct profile *piece, u64 by_ns)
{
	if (by_ns && piece->resources.count && piece->resources.at[0].scope_count &&
	    piece->resources.at[0].scopes[0].set_count && piece->resources.at[0].scopes[0].sets[0].time_unix_ns)
		piece->resources.at[0].scopes[0].sets[0].time_unix_ns += by_ns;
}

/* How many samples the next piece has; *left are those of the series at hand that are in none yet. */
static u64 next_size(struct walk *walk, u32 series_max, u64 samples_max, u64 *left)
{
	const struct profile_set *set;
	u64 size = 0, part;

	for (u32 series = 0; series < series_max && size < samples_max; series++) {
		if (!*left) {
			set = next_series(walk);
			if (!set)
				break;
			*left = set->sample_count;
		}
		part = *left < samples_max - size ? *left : samples_max - size;
		size += part;
		*left -= part;
	}
	return size;
}

int pyroscope_cut(const struct profile *from, u32 series_max, u64 samples_max,
		  int (*emit)(void *arg, struct profile *piece), void *arg)
{
	_cleanup_(appender_freep) struct appender *appender = appender_new(from);
	struct walk walk = { .profile = from };
	u64 left = 0, size, count, shift_ns = 0;
	int r = appender ? 0 : -ENOMEM;

	while (r == 0 && (size = next_size(&walk, series_max, samples_max, &left))) {
		_cleanup_(profile_freep) struct profile *piece = profile_new();

		r = piece ? appender_next(appender, piece, size, &count) : -ENOMEM;
		if (r < 0)
			break;
		shift_first(piece, shift_ns);
		shift_ns = left ? shift_ns + PIECE_SHIFT_NS : 0;
		r = emit(arg, TAKE(piece));
	}
	return r;
}
