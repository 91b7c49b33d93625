// SPDX-License-Identifier: Apache-2.0
#include "profile/prune.h"

#include <string.h>

#define MARKS_MAX ((size_t)256 << 20)

enum mark { MARK_STAYS, MARK_GOES };

/* ---- Planning ------------------------------------------------------------------- */

struct plan {
	const struct prune_ops *ops;
	void *arg;
	struct prune *prune;
};

static size_t plan_mark(struct plan *plan, int goes)
{
	char mark = goes ? MARK_GOES : MARK_STAYS;

	buf_add(&plan->prune->marks, &mark, 1);
	return plan->prune->marks.len - 1;
}

/* It goes after all, because nothing is left in it: what is in it has no marks any more. */
static void plan_empty(struct plan *plan, size_t at)
{
	plan->prune->dropped++;
	if (buf_err(&plan->prune->marks))
		return;
	plan->prune->marks.data[at] = MARK_GOES;
	plan->prune->marks.len = at + 1;
}

static int plan_goes(struct plan *plan, int answer, u64 samples, size_t *ret_at)
{
	if (answer < 0)
		return answer;
	*ret_at = plan_mark(plan, answer);
	if (answer) {
		plan->prune->dropped++;
		plan->prune->samples_dropped += samples;
	}
	return answer;
}

static int plan_samples(struct plan *plan, const struct profile_resource *resource, const struct profile_scope *scope,
			const struct profile_set *set, size_t set_at)
{
	u32 kept = 0;

	for (u32 i = 0; i < set->sample_count; i++) {
		size_t at;
		int r = plan_goes(plan, plan->ops->sample(plan->arg, resource, scope, set, &set->samples[i]), 1, &at);

		if (r < 0)
			return r;
		kept += !r;
	}
	plan->prune->samples_kept += kept;
	if (!kept && set->sample_count)
		plan_empty(plan, set_at);
	return kept || !set->sample_count;
}

/* 1: it stays. */
static int plan_set(struct plan *plan, const struct profile_resource *resource, const struct profile_scope *scope,
		    const struct profile_set *set)
{
	size_t at;
	int r = plan_goes(plan, plan->ops->set ? plan->ops->set(plan->arg, resource, scope, set) : 0, set->sample_count,
			  &at);

	if (r)
		return r < 0 ? r : 0;
	if (plan->ops->sample)
		return plan_samples(plan, resource, scope, set, at);
	plan->prune->samples_kept += set->sample_count;
	return 1;
}

static u64 scope_samples(const struct profile_scope *scope)
{
	u64 samples = 0;

	for (u32 i = 0; i < scope->set_count; i++)
		samples += scope->sets[i].sample_count;
	return samples;
}

static int plan_scope(struct plan *plan, const struct profile_resource *resource, const struct profile_scope *scope)
{
	u32 kept = 0;
	size_t at;
	int r = plan_goes(plan, plan->ops->scope ? plan->ops->scope(plan->arg, resource, scope) : 0,
			  scope_samples(scope),
			  &at);

	if (r)
		return r < 0 ? r : 0;
	for (u32 i = 0; i < scope->set_count; i++) {
		r = plan_set(plan, resource, scope, &scope->sets[i]);
		if (r < 0)
			return r;
		kept += (u32)r;
	}
	if (!kept)
		plan_empty(plan, at);
	return kept > 0;
}

static int plan_resource(struct plan *plan, const struct profile_resource *resource)
{
	u64 samples = 0;
	u32 kept = 0;
	size_t at;
	int r;

	for (u32 i = 0; i < resource->scope_count; i++)
		samples += scope_samples(&resource->scopes[i]);
	r = plan_goes(plan, plan->ops->resource ? plan->ops->resource(plan->arg, resource) : 0, samples, &at);
	if (r)
		return r < 0 ? r : 0;
	for (u32 i = 0; i < resource->scope_count; i++) {
		r = plan_scope(plan, resource, &resource->scopes[i]);
		if (r < 0)
			return r;
		kept += (u32)r;
	}
	if (!kept)
		plan_empty(plan, at);
	return kept > 0;
}

int prune_plan(const struct profile *profile, const struct prune_ops *ops, void *arg, struct prune *ret_prune)
{
	struct plan plan = { ops, arg, ret_prune };

	*ret_prune = (struct prune){ .has_samples = ops->sample != NULL };
	buf_init(&ret_prune->marks, MARKS_MAX);
	for (u32 i = 0; i < profile->resources.count; i++) {
		int r = plan_resource(&plan, &profile->resources.at[i]);

		if (r < 0)
			return r;
	}
	return buf_err(&ret_prune->marks);
}

void prune_done(struct prune *prune)
{
	buf_done(&prune->marks);
}

/* ---- Applying: in the order of the marks ------------------------------------------- */

static void apply_set(struct profile_set *set, const char **mark)
{
	u32 kept = 0;

	for (u32 i = 0; i < set->sample_count; i++)
		if (*(*mark)++ == MARK_STAYS)
			set->samples[kept++] = set->samples[i];
	set->sample_count = kept;
}

static void set_done(struct profile_set *set)
{
	free(set->samples);
}

static void scope_done(struct profile_scope *scope)
{
	for (u32 i = 0; i < scope->set_count; i++)
		set_done(&scope->sets[i]);
	free(scope->sets);
}

static void resource_done(struct profile_resource *resource)
{
	for (u32 i = 0; i < resource->scope_count; i++)
		scope_done(&resource->scopes[i]);
	free(resource->scopes);
}

static void apply_scope(struct profile_scope *scope, const struct prune *prune, const char **mark)
{
	u32 kept = 0;

	for (u32 i = 0; i < scope->set_count; i++) {
		char set_mark = *(*mark)++;

		if (set_mark == MARK_STAYS && prune->has_samples)
			apply_set(&scope->sets[i], mark);
		if (set_mark == MARK_STAYS)
			scope->sets[kept++] = scope->sets[i];
		else
			set_done(&scope->sets[i]);
	}
	scope->set_count = kept;
}

static void apply_resource(struct profile_resource *resource, const struct prune *prune, const char **mark)
{
	u32 kept = 0;

	for (u32 i = 0; i < resource->scope_count; i++) {
		char scope_mark = *(*mark)++;

		if (scope_mark == MARK_STAYS)
			apply_scope(&resource->scopes[i], prune, mark);
		if (scope_mark == MARK_STAYS)
			resource->scopes[kept++] = resource->scopes[i];
		else
			scope_done(&resource->scopes[i]);
	}
	resource->scope_count = kept;
}

void prune_apply(struct profile *profile, const struct prune *prune)
{
	const char *mark = prune->marks.data;
	u32 kept = 0;

	for (u32 i = 0; i < profile->resources.count; i++) {
		char resource_mark = *mark++;

		if (resource_mark == MARK_STAYS)
			apply_resource(&profile->resources.at[i], prune, &mark);
		if (resource_mark == MARK_STAYS)
			profile->resources.at[kept++] = profile->resources.at[i];
		else
			resource_done(&profile->resources.at[i]);
	}
	profile->resources.count = kept;
}
