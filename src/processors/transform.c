// SPDX-License-Identifier: Apache-2.0
/*
 * transform: runs OTTL statements, group by group, on every resource, scope,
 * profile or sample, whichever the group is about. Statements that stand alone are one group.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/metrics.h"
#include "ottl/ottl.h"
#include "pipeline/batch.h"
#include "pipeline/component.h"
#include "processors/edit.h"
#include "processors/error_mode.h"
#include "profile/profile.h"

struct options {
	int error_mode;
	const struct config_node *statements;
};

struct group {
	struct ottl_program *statements, *conditions;
	const char **texts;		/* of the statements, then of the conditions; borrowed */
	u32 text_count, text_cap;
	enum ottl_context context;
	enum error_mode error_mode;
};

struct transform {
	const struct component_setup *setup;
	struct group *groups;
	u32 group_count, group_cap;
	struct metric *failures;
};

/* ---- Reading groups -------------------------------------------------------------------------- */

struct reading {
	struct transform *transform;
	struct config_errors *errors;	/* check: all that is wrong goes here */
	const char *path;
	struct buf *why;		/* create: the first that is wrong */
};

static int wrong(const struct reading *reading, const struct config_node *node, const char *text)
{
	if (reading->errors)
		config_error(reading->errors, node->place, reading->path, "%s", text);
	else
		buf_addf(reading->why, "%s", text);
	return reading->errors ? 0 : -EINVAL;
}

static int group_new(struct transform *t, enum ottl_context context, enum error_mode error_mode,
		     struct group **ret_group)
{
	struct group *group;
	int r = array_reserve(&t->groups, &t->group_cap, t->group_count + 1, sizeof(*t->groups));

	if (r < 0)
		return r;
	group = &t->groups[t->group_count++];
	*group = (struct group){ .context = context, .error_mode = error_mode };
	group->statements = ottl_program_new(context);
	group->conditions = ottl_program_new(context);
	*ret_group = group;
	return group->statements && group->conditions ? 0 : -ENOMEM;
}

static int add_one(const struct reading *reading, struct group *group, const struct config_node *node, bool condition)
{
	_cleanup_(buf_done) struct buf why;
	int r;

	buf_init(&why, 4096);
	if (!node->text)
		return wrong(reading, node, condition ? "a condition is a string" : "a statement is a string");
	r = condition ? ottl_add_condition(group->conditions, node->text, &why) :
			ottl_add_statement(group->statements, node->text, &why);
	if (r == -EINVAL)
		return wrong(reading, node, why.data);
	if (r == 0)
		r = array_reserve(&group->texts, &group->text_cap, group->text_count + 1, sizeof(*group->texts));
	if (r == 0)
		group->texts[group->text_count++] = node->text;
	return r;
}

static int add_list(const struct reading *reading, struct group *group, const struct config_node *node, bool condition)
{
	int r = 0;

	if (!node || node->kind == NODE_NULL)
		return 0;
	if (node->kind != NODE_LIST)
		return wrong(reading, node, "this is a list of strings");
	for (u32 i = 0; r == 0 && i < node->count; i++)
		r = add_one(reading, group, node->list[i], condition);
	return r;
}

/* Inferred: the innermost that a statement or a condition of the group names. */
static void group_infer(struct group *group)
{
	enum ottl_context a = ottl_program_context(group->statements), b = ottl_program_context(group->conditions);

	if (group->context == OTTL_INFER)
		group->context = a > b ? a : b;
}

/* {context, conditions, statements, error_mode} */
static int read_group(const struct reading *reading, const struct config_node *node, enum error_mode error_mode)
{
	enum ottl_context context = OTTL_INFER;
	struct group *group;
	int r = 0, mode = 0;

	for (u32 i = 0; r == 0 && i < node->count; i++) {
		const struct config_node *value = node->map[i].value;
		const char *key = node->map[i].key;

		if (!strcmp(key, "context")) {
			if (value->text && *value->text && ottl_context_parse(value->text, &context) < 0)
				r = wrong(reading, value, "context is resource, scope, profile or sample");
		} else if (!strcmp(key, "error_mode")) {
			while (error_modes[mode] && value->text && strcmp(error_modes[mode], value->text))
				mode++;
			if (!value->text || !error_modes[mode])
				r = wrong(reading, value, "error_mode is ignore, silent or propagate");
			else
				error_mode = (enum error_mode)mode;
		} else if (strcmp(key, "conditions") && strcmp(key, "statements")) {
			r = wrong(reading, value, "a group of statements has context, conditions, statements and "
				  "error_mode");
		}
	}
	if (r == 0)
		r = group_new(reading->transform, context, error_mode, &group);
	if (r == 0)
		r = add_list(reading, group, config_get(node, "statements"), false);
	if (r == 0)
		r = add_list(reading, group, config_get(node, "conditions"), true);
	if (r == 0)
		group_infer(group);
	return r;
}

static int read_statements(const struct reading *reading, const struct options *o)
{
	const struct config_node *node = o->statements;
	struct group *group = NULL;
	int r = 0;

	if (!node || node->kind == NODE_NULL)
		return 0;
	if (node->kind != NODE_LIST)
		return wrong(reading, node, "profile_statements is a list");
	for (u32 i = 0; r == 0 && i < node->count; i++) {
		const struct config_node *entry = node->list[i];

		if (i && (entry->kind == NODE_MAP) != (node->list[0]->kind == NODE_MAP))
			return wrong(reading, entry,
				     "statements and groups of statements cannot be in one list; put the "
				     "statements into a group");
		if (entry->kind == NODE_MAP) {
			r = read_group(reading, entry, (enum error_mode)o->error_mode);
			continue;
		}
		if (!group)
			r = group_new(reading->transform, OTTL_INFER, (enum error_mode)o->error_mode, &group);
		if (r == 0)
			r = add_one(reading, group, entry, false);
	}
	if (group)
		group_infer(group);
	return r;
}

/* ---- Running -------------------------------------------------------------------------------------- */

struct view {
	const struct transform *transform;
	const struct group *group;
	struct ottl_run run;
};

static int failed(struct view *view, const char *text)
{
	return error_mode_failed(view->group->error_mode, view->transform->failures, view->transform->setup->id, text,
				 view->run.why);
}

/* Whether the group's conditions let it run: one of them holds, or there are none. */
static int is_wanted(struct view *view)
{
	const struct group *group = view->group;
	u32 count = ottl_program_count(group->conditions), statements = ottl_program_count(group->statements);

	for (u32 i = 0; i < count; i++) {
		int r = ottl_holds(group->conditions, i, &view->run);

		if (r > 0)
			return 1;
		if (r < 0)
			r = failed(view, group->texts[statements + i]);
		if (r < 0)
			return r;
	}
	return !count;
}

static int run_at(struct view *view, const struct ottl_target *target)
{
	const struct group *group = view->group;
	u32 count = ottl_program_count(group->statements);
	int r;

	ottl_run_at(&view->run, target);
	r = is_wanted(view);
	if (r <= 0)
		return r;
	for (u32 i = 0; i < count; i++) {
		r = ottl_execute(group->statements, i, &view->run);
		if (r < 0)
			r = failed(view, group->texts[i]);
		if (r < 0)
			return r;
	}
	return profile_err(target->profile);
}

static int run_samples(struct view *view, struct ottl_target target)
{
	int r = 0;

	for (u32 i = 0; r == 0 && i < target.set->sample_count; i++) {
		target.sample = &target.set->samples[i];
		r = run_at(view, &target);
	}
	return r;
}

static int run_scope(struct view *view, struct ottl_target target)
{
	int r = 0;

	if (view->group->context == OTTL_SCOPE)
		return run_at(view, &target);
	for (u32 i = 0; r == 0 && i < target.scope->set_count; i++) {
		target.set = &target.scope->sets[i];
		r = view->group->context == OTTL_PROFILE ? run_at(view, &target) : run_samples(view, target);
	}
	return r;
}

static int run_resource(struct view *view, struct ottl_target target)
{
	int r = 0;

	if (view->group->context == OTTL_RESOURCE)
		return run_at(view, &target);
	for (u32 i = 0; r == 0 && i < target.resource->scope_count; i++) {
		target.scope = &target.resource->scopes[i];
		r = run_scope(view, target);
	}
	return r;
}

static int change(void *arg, struct profile *profile)
{
	const struct transform *t = arg;
	struct view view = { .transform = t };
	int r = 0;

	ottl_run_init(&view.run);
	for (u32 g = 0; r == 0 && g < t->group_count; g++) {
		view.group = &t->groups[g];
		for (u32 i = 0; r == 0 && i < profile->resources.count; i++)
			r = run_resource(&view, (struct ottl_target){ .profile = profile,
								      .resource = &profile->resources.at[i] });
	}
	ottl_run_done(&view.run);
	return r;
}

static int transform_consume(void *self, struct batch *batch)
{
	struct transform *t = self;

	if (!t->group_count)
		return consumers_send(t->setup->next, batch);
	return processor_edit(t->setup, batch, change, t);
}

/* ---- Life and options -------------------------------------------------------------------------------- */

static void transform_free(void *self)
{
	struct transform *t = self;

	if (!t)
		return;
	for (u32 i = 0; i < t->group_count; i++) {
		ottl_program_free(t->groups[i].statements);
		ottl_program_free(t->groups[i].conditions);
		free(t->groups[i].texts);
	}
	free(t->groups);
	free(t);
}
DEFINE_CLEANUP(void *, transform_free)

static int transform_create(const struct component_setup *setup, const void *options, void **ret_self,
			    struct buf *why)
{
	struct transform *t = calloc(1, sizeof(*t));
	_cleanup_(transform_freep) void *self = t;
	int r;

	if (!t)
		return -ENOMEM;
	t->setup = setup;
	t->failures = processor_counter(setup, "wick_processor_transform_failures",
					"Statements that failed while they ran");
	r = read_statements(&(struct reading){ .transform = t, .why = why }, options);
	if (r < 0)
		return r;
	*ret_self = TAKE(self);
	return 0;
}

static void transform_check(const void *options, struct config_place place, const char *path,
			    struct config_errors *errors)
{
	struct transform *t = calloc(1, sizeof(*t));
	_cleanup_(transform_freep) void *self = t;

	if (t)
		(void)read_statements(&(struct reading){ .transform = t, .errors = errors, .path = path }, options);
}

#define OTHER_SIGNAL .help = "wick has profiles only; remove it"

static const struct config_field fields[] = {
	{ "error_mode", CONFIG_CHOICE, FIELD(struct options, error_mode), .choices = error_modes,
	  .help =
	  	"what happens if a statement fails on some data: ignore logs it and goes on, silent goes on, propagate "
		  "drops the batch" },
	{ "profile_statements", CONFIG_NODE, FIELD(struct options, statements),
	  .help = "OTTL statements, or groups of them: {context, conditions, statements, error_mode}" },
	{ "flatten_data", CONFIG_REFUSED, .help = "it is for logs only; remove it" },
	{ "trace_statements", CONFIG_REFUSED, OTHER_SIGNAL },
	{ "metric_statements", CONFIG_REFUSED, OTHER_SIGNAL },
	{ "log_statements", CONFIG_REFUSED, OTHER_SIGNAL },
	{ 0 },
};

const struct component_ops processor_transform = {
	.type = "transform",
	.help = "changes resources, profiles and samples by OTTL statements",
	.fields = fields,
	.options_bytes = sizeof(struct options),
	.check = transform_check,
	.create = transform_create,
	.looks = LOOKS_AT_PROFILE,
	.consume = transform_consume,
	.free = transform_free,
};
