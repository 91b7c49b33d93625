// SPDX-License-Identifier: Apache-2.0
/* resource: actions on the attributes of every resource. */
#include <errno.h>
#include <stdlib.h>

#include "base/buf.h"
#include "pipeline/batch.h"
#include "pipeline/component.h"
#include "processors/actions.h"
#include "processors/edit.h"

struct options {
	struct config_sections attributes;
};

struct editor {
	const struct component_setup *setup;
	struct actions *actions;
};

static int change(void *arg, struct profile *profile)
{
	_cleanup_(pattern_scratch_done) struct pattern_scratch scratch = { 0 };
	const struct editor *editor = arg;

	for (u32 i = 0; i < profile->resources.count; i++) {
		struct attrs attrs = attrs_of_resource(profile, &profile->resources.at[i]);

		actions_apply(editor->actions, &attrs, &scratch);
	}
	return 0;
}

static int editor_consume(void *self, struct batch *batch)
{
	struct editor *editor = self;

	return processor_edit_resources(editor->setup, batch, change, editor);
}

static void editor_free(void *self)
{
	struct editor *editor = self;

	if (!editor)
		return;
	actions_free(editor->actions);
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
	r = actions_new(&o->attributes, &editor->actions, why);
	if (r < 0)
		return r;
	*ret_self = TAKE(self);
	return 0;
}

static void editor_check(const void *options, struct config_place place, const char *path,
			 struct config_errors *errors)
{
	const struct options *o = options;

	if (!o->attributes.count)
		config_error(errors, place, path, "attributes is missing: there is nothing to do");
	actions_check(&o->attributes, place, path, errors);
}

static const struct config_field fields[] = {
	{ "attributes", CONFIG_SECTIONS, FIELD(struct options, attributes), ACTION_FIELDS,
	  .help = "what is done to the attributes of every resource, in this order" },
	{ 0 },
};

const struct component_ops processor_resource = {
	.type = "resource",
	.help = "changes attributes of resources",
	.fields = fields,
	.options_bytes = sizeof(struct options),
	.check = editor_check,
	.create = editor_create,
	.looks = LOOKS_AT_NOTHING,	/* of resources, as they come */
	.consume = editor_consume,
	.free = editor_free,
};
