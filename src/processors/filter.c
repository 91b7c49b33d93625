// SPDX-License-Identifier: Apache-2.0
/*
 * filter: drops what one of its conditions holds for. A condition about
 * resources drops resources, one about profiles drops profiles, one about samples drops samples; what
 * is empty then goes too.
 *
 *  - Conditions are evaluated on the data as it came: only if something goes is it copied and changed.
 *  - If no sample is left, the batch ends here; nothing empty is sent on.
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
#include "profile/prune.h"

/* The older form. */
struct older_options {
	const struct config_node *resource, *profile;
};

struct options {
	int error_mode;
	const struct config_node *conditions;
	struct older_options profiles;
};

struct condition {
	struct ottl_program *program;
	const char *text;
	enum error_mode error_mode;
};

struct conditions {
	struct condition *at;
	u32 count, cap;
};

struct filter {
	const struct component_setup *setup;
	struct conditions of[OTTL_INFER];	/* by what they are about */
	struct metric *dropped, *failures;
};

/* ---- Reading conditions ---------------------------------------------------------------------- */

/* Where conditions go as they are read, and what is wrong with them. */
struct reading {
	struct filter *filter;
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

static int add_condition(const struct reading *reading, const struct config_node *node, enum ottl_context context,
			 enum error_mode error_mode)
{
	_cleanup_(ottl_program_freep) struct ottl_program *program = ottl_program_new(context);
	_cleanup_(buf_done) struct buf why;
	struct conditions *list;
	int r;

	buf_init(&why, 4096);
	if (!program)
		return -ENOMEM;
	if (!node->text)
		return wrong(reading, node, "a condition is a string");
	r = ottl_add_condition(program, node->text, &why);
	if (r == -EINVAL)
		return wrong(reading, node, why.data);
	if (r < 0)
		return r;
	list = &reading->filter->of[ottl_program_context(program)];
	r = array_reserve(&list->at, &list->cap, list->count + 1, sizeof(*list->at));
	if (r < 0)
		return r;
	list->at[list->count++] = (struct condition){ TAKE(program), node->text, error_mode };
	return 0;
}

static int add_list(const struct reading *reading, const struct config_node *node, enum ottl_context context,
		    enum error_mode error_mode)
{
	int r = 0;

	if (!node || node->kind == NODE_NULL)
		return 0;
	if (node->kind != NODE_LIST)
		return wrong(reading, node, "conditions are a list of strings");
	for (u32 i = 0; r == 0 && i < node->count; i++)
		r = add_condition(reading, node->list[i], context, error_mode);
	return r;
}

/* {context, conditions, error_mode} */
static int add_group(const struct reading *reading, const struct config_node *node, enum error_mode error_mode)
{
	enum ottl_context context = OTTL_INFER;
	int r = 0;

	for (u32 i = 0; r == 0 && i < node->count; i++) {
		const struct config_node *value = node->map[i].value;
		const char *key = node->map[i].key;
		int mode = 0;

		if (!strcmp(key, "context")) {
			if (!value->text || ottl_context_parse(value->text, &context) < 0)
				r = wrong(reading, value, "context is resource, scope, profile or sample");
		} else if (!strcmp(key, "error_mode")) {
			while (error_modes[mode] && value->text && strcmp(error_modes[mode], value->text))
				mode++;
			if (!value->text || !error_modes[mode])
				r = wrong(reading, value, "error_mode is ignore, silent or propagate");
			else
				error_mode = (enum error_mode)mode;
		} else if (strcmp(key, "conditions")) {
			r = wrong(reading, value, "a group of conditions has context, conditions and error_mode");
		}
	}
	return r < 0 ? r : add_list(reading, config_get(node, "conditions"), context, error_mode);
}

static int read_conditions(const struct reading *reading, const struct options *o)
{
	const struct config_node *node = o->conditions;
	int r = 0;

	if (node && node->kind != NODE_LIST && node->kind != NODE_NULL)
		return wrong(reading, node, "profile_conditions is a list of conditions");
	for (u32 i = 0; r == 0 && node && node->kind == NODE_LIST && i < node->count; i++)
		r = node->list[i]->kind == NODE_MAP ?
			add_group(reading, node->list[i], (enum error_mode)o->error_mode) :
			add_condition(reading, node->list[i], OTTL_INFER, (enum error_mode)o->error_mode);
	if (r == 0)
		r = add_list(reading, o->profiles.resource, OTTL_RESOURCE, (enum error_mode)o->error_mode);
	if (r == 0)
		r = add_list(reading, o->profiles.profile, OTTL_PROFILE, (enum error_mode)o->error_mode);
	return r;
}

/* ---- Asking them --------------------------------------------------------------------------------- */

struct view {
	const struct filter *filter;
	struct profile *profile;
	struct ottl_run run;
};

/*
 * Conditions only read, which is why what they look at need not be ours to change: the casts below are for
 * the target, which statements that write share.
 */
static int any_holds(struct view *view, enum ottl_context context, const struct ottl_target *target)
{
	const struct conditions *list = &view->filter->of[context];

	ottl_run_at(&view->run, target);
	for (u32 i = 0; i < list->count; i++) {
		const struct condition *condition = &list->at[i];
		int r = ottl_holds(condition->program, 0, &view->run);

		if (r > 0)
			return 1;
		if (r < 0)
			r = error_mode_failed(condition->error_mode, view->filter->failures, view->filter->setup->id,
					      condition->text, view->run.why);
		if (r < 0)
			return r;
	}
	return 0;
}

static int resource_goes(void *arg, const struct profile_resource *resource)
{
	struct view *view = arg;

	return any_holds(view, OTTL_RESOURCE,
			 &(struct ottl_target){ view->profile, (void *)resource, NULL, NULL, NULL });
}

static int scope_goes(void *arg, const struct profile_resource *resource, const struct profile_scope *scope)
{
	struct view *view = arg;

	return any_holds(view, OTTL_SCOPE,
			 &(struct ottl_target){ view->profile, (void *)resource, (void *)scope, NULL, NULL });
}

static int set_goes(void *arg, const struct profile_resource *resource, const struct profile_scope *scope,
		    const struct profile_set *set)
{
	struct view *view = arg;

	return any_holds(view, OTTL_PROFILE,
			 &(struct ottl_target){ view->profile, (void *)resource, (void *)scope, (void *)set, NULL });
}

static int sample_goes(void *arg, const struct profile_resource *resource, const struct profile_scope *scope,
		       const struct profile_set *set, const struct profile_sample *sample)
{
	struct view *view = arg;

	return any_holds(view, OTTL_SAMPLE, &(struct ottl_target){ view->profile, (void *)resource, (void *)scope,
								  (void *)set, (void *)sample });
}

static int consume_whole(struct filter *f, struct batch *batch)
{
	struct prune_ops ops = {
		.resource = f->of[OTTL_RESOURCE].count ? resource_goes : NULL,
		.scope = f->of[OTTL_SCOPE].count ? scope_goes : NULL,
		.set = f->of[OTTL_PROFILE].count ? set_goes : NULL,
		.sample = f->of[OTTL_SAMPLE].count ? sample_goes : NULL,
	};
	struct view view = { .filter = f };
	const struct profile *profile;
	struct prune prune = { 0 };
	int r = batch_profile(batch, &profile);

	ottl_run_init(&view.run);
	if (r == 0) {
		view.profile = (struct profile *)profile;
		r = prune_plan(profile, &ops, &view, &prune);
	}
	if (r == 0) {
		metric_add(f->dropped, prune.samples_dropped);
		r = processor_prune(f->setup, batch, &prune);
	} else {
		batch_unref(batch);
	}
	prune_done(&prune);
	ottl_run_done(&view.run);
	return r;
}

static int only_resource_goes(void *arg, struct profile *profile, struct profile_resource *resource)
{
	struct view *view = arg;

	view->profile = profile;
	return resource_goes(view, resource);
}

/* Conditions about resources alone need nothing else of what came. */
static int consume_by_resource(struct filter *f, struct batch *batch)
{
	struct view view = { .filter = f };
	int r;

	ottl_run_init(&view.run);
	r = processor_drop_resources(f->setup, batch, only_resource_goes, &view, f->dropped);
	ottl_run_done(&view.run);
	return r;
}

static int filter_consume(void *self, struct batch *batch)
{
	struct filter *f = self;
	bool by_resource = !f->of[OTTL_SCOPE].count && !f->of[OTTL_PROFILE].count && !f->of[OTTL_SAMPLE].count;

	return by_resource ? consume_by_resource(f, batch) : consume_whole(f, batch);
}

/* ---- Life and options ------------------------------------------------------------------------------ */

static void filter_free(void *self)
{
	struct filter *f = self;

	if (!f)
		return;
	for (u32 c = 0; c < OTTL_INFER; c++) {
		for (u32 i = 0; i < f->of[c].count; i++)
			ottl_program_free(f->of[c].at[i].program);
		free(f->of[c].at);
	}
	free(f);
}
DEFINE_CLEANUP(void *, filter_free)

static int filter_create(const struct component_setup *setup, const void *options, void **ret_self, struct buf *why)
{
	struct filter *f = calloc(1, sizeof(*f));
	_cleanup_(filter_freep) void *self = f;
	int r;

	if (!f)
		return -ENOMEM;
	f->setup = setup;
	f->dropped = processor_counter(setup, "otelcol_processor_filter_profiles_filtered",
				       "Samples that the filter processor dropped");
	f->failures = processor_counter(setup, "wick_processor_filter_failures",
					"Conditions that failed while they were evaluated");
	r = read_conditions(&(struct reading){ .filter = f, .why = why }, options);
	if (r < 0)
		return r;
	*ret_self = TAKE(self);
	return 0;
}

static void filter_check(const void *options, struct config_place place, const char *path,
			 struct config_errors *errors)
{
	const struct options *o = options;
	struct filter *f = calloc(1, sizeof(*f));
	_cleanup_(filter_freep) void *self = f;

	if (!f)
		return;
	if (o->conditions && (o->profiles.resource || o->profiles.profile))
		config_error(errors, place, path,
			     "profile_conditions and profiles cannot both be given; move all conditions "
			     "to profile_conditions");
	(void)read_conditions(&(struct reading){ .filter = f, .errors = errors, .path = path }, o);
}

#define OTHER_SIGNAL .help = "wick has profiles only; remove it"

static const struct config_field older_fields[] = {
	{ "resource", CONFIG_NODE, FIELD(struct older_options, resource), .help = "conditions on resources" },
	{ "profile", CONFIG_NODE, FIELD(struct older_options, profile), .help = "conditions on profiles" },
	{ 0 },
};

static const struct config_field fields[] = {
	{ "error_mode", CONFIG_CHOICE, FIELD(struct options, error_mode), .choices = error_modes,
	  .help =
	  	"what happens if a condition fails on some data: ignore logs it and goes on, silent goes on, propagate "
		  "drops the batch" },
	{ "profile_conditions", CONFIG_NODE, FIELD(struct options, conditions),
	  .help = "OTTL conditions; what one of them holds for is dropped" },
	{ "profiles", CONFIG_SECTION, FIELD(struct options, profiles), .fields = older_fields,
	  .help = "the older form of profile_conditions" },
	{ "trace_conditions", CONFIG_REFUSED, OTHER_SIGNAL },
	{ "metric_conditions", CONFIG_REFUSED, OTHER_SIGNAL },
	{ "log_conditions", CONFIG_REFUSED, OTHER_SIGNAL },
	{ "traces", CONFIG_REFUSED, OTHER_SIGNAL },
	{ "spans", CONFIG_REFUSED, OTHER_SIGNAL },
	{ "metrics", CONFIG_REFUSED, OTHER_SIGNAL },
	{ "logs", CONFIG_REFUSED, OTHER_SIGNAL },
	{ 0 },
};

const struct component_ops processor_filter = {
	.type = "filter",
	.help = "drops resources, profiles and samples by OTTL conditions",
	.fields = fields,
	.options_bytes = sizeof(struct options),
	.check = filter_check,
	.create = filter_create,
	.looks = LOOKS_AT_NOTHING,	/* of resources, as they come */
	.consume = filter_consume,
	.free = filter_free,
};
