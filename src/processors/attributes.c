// SPDX-License-Identifier: Apache-2.0
/*
 * attributes: actions on the attributes of profiles and of samples, of those
 * that include matches and exclude does not. (The reference has no such
 * processor for profiles; for spans and logs it means the same.)
 */
#include <errno.h>
#include <stdlib.h>

#include "base/buf.h"
#include "pipeline/batch.h"
#include "pipeline/component.h"
#include "processors/actions.h"
#include "processors/edit.h"
#include "processors/match.h"

struct options {
	struct config_sections actions;
	struct match_options include, exclude;
};

struct editor {
	const struct component_setup *setup;
	struct actions *actions;
	struct match *include, *exclude;	/* or NULL */
};

/* Which of the two blocks can still match, once resource and scope are known. */
struct view {
	const struct editor *editor;
	struct pattern_scratch *scratch;
	bool excludes;
};

static void change_attrs(const struct view *view, struct attrs attrs)
{
	const struct editor *editor = view->editor;

	if (editor->include && !match_attributes(editor->include, view->scratch, &attrs))
		return;
	if (view->excludes && match_attributes(editor->exclude, view->scratch, &attrs))
		return;
	actions_apply(editor->actions, &attrs, view->scratch);
}

static void change_scope(struct view *view, struct profile *profile, const struct profile_resource *resource,
			 struct profile_scope *scope)
{
	const struct editor *editor = view->editor;

	if (editor->include && !match_scope(editor->include, view->scratch, resource, scope))
		return;
	view->excludes = editor->exclude && match_scope(editor->exclude, view->scratch, resource, scope);
	for (u32 i = 0; i < scope->set_count; i++) {
		struct profile_set *set = &scope->sets[i];

		change_attrs(view, attrs_of_set(profile, set));
		for (u32 n = 0; n < set->sample_count; n++)
			change_attrs(view, attrs_of_sample(profile, &set->samples[n]));
	}
}

static int change(void *arg, struct profile *profile)
{
	_cleanup_(pattern_scratch_done) struct pattern_scratch scratch = { 0 };
	struct view view = { .editor = arg, .scratch = &scratch };

	for (u32 i = 0; i < profile->resources.count; i++)
		for (u32 s = 0; s < profile->resources.at[i].scope_count; s++)
			change_scope(&view, profile, &profile->resources.at[i], &profile->resources.at[i].scopes[s]);
	return 0;
}

static int editor_consume(void *self, struct batch *batch)
{
	struct editor *editor = self;

	return processor_edit(editor->setup, batch, change, editor);
}

static void editor_free(void *self)
{
	struct editor *editor = self;

	if (!editor)
		return;
	actions_free(editor->actions);
	match_free(editor->include);
	match_free(editor->exclude);
	free(editor);
}
DEFINE_CLEANUP(void *, editor_free)

static int editor_create(const struct component_setup *setup, const void *options, void **ret_self, struct buf *why)
{
	const struct options *o = options;
	struct editor *editor = calloc(1, sizeof(*editor));
	_cleanup_(editor_freep) void *self = editor;
	int r;

	if (!editor)
		return -ENOMEM;
	editor->setup = setup;
	r = actions_new(&o->actions, &editor->actions, why);
	if (r == 0 && o->include.present)
		r = match_new(&o->include, &editor->include, why);
	if (r == 0 && o->exclude.present)
		r = match_new(&o->exclude, &editor->exclude, why);
	if (r < 0)
		return r;
	*ret_self = TAKE(self);
	return 0;
}

static void check_match(const struct match_options *o, const char *name, struct config_place place, const char *path,
			struct config_errors *errors)
{
	_cleanup_(match_freep) struct match *match = NULL;
	_cleanup_(buf_done) struct buf why;

	buf_init(&why, 4096);
	if (o->present && match_new(o, &match, &why) < 0)
		config_error(errors, place, path, "%s: %s", name, why.len ? why.data : "out of memory");
}

static void editor_check(const void *options, struct config_place place, const char *path,
			 struct config_errors *errors)
{
	const struct options *o = options;

	if (!o->actions.count)
		config_error(errors, place, path, "actions is missing: there is nothing to do");
	actions_check(&o->actions, place, path, errors);
	check_match(&o->include, "include", place, path, errors);
	check_match(&o->exclude, "exclude", place, path, errors);
}

static const struct options defaults = { .include.match_type = -1, .exclude.match_type = -1 };

static const struct config_field fields[] = {
	{ "actions", CONFIG_SECTIONS, FIELD(struct options, actions), ACTION_FIELDS,
	  .help = "what is done to the attributes of profiles and samples, in this order" },
	{ "include", CONFIG_SECTION, FIELD(struct options, include), .fields = match_fields,
	  .present = FIELD_PRESENT(struct options, include.present), .help = "only where all of this matches" },
	{ "exclude", CONFIG_SECTION, FIELD(struct options, exclude), .fields = match_fields,
	  .present = FIELD_PRESENT(struct options, exclude.present), .help = "not where all of this matches" },
	{ 0 },
};

const struct component_ops processor_attributes = {
	.type = "attributes",
	.help = "changes attributes of profiles and samples",
	.fields = fields,
	.options_bytes = sizeof(struct options),
	.defaults = &defaults,
	.check = editor_check,
	.create = editor_create,
	.looks = LOOKS_AT_PROFILE,
	.consume = editor_consume,
	.free = editor_free,
};
