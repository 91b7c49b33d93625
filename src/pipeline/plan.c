// SPDX-License-Identifier: Apache-2.0
#include "pipeline/plan.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "config/fields.h"
#include "pipeline/component_id.h"
#include "pipeline/sender.h"

/* Options of components; their strings are in the config's arena already. */
#define ARENA_MAX (256u << 20)
#define PATH_BYTES 1200

struct service_section {
	const struct config_node *extensions, *pipelines;
	struct telemetry_options telemetry;
};

struct root {
	const struct config_node *sections[COMPONENT_KINDS];
	struct service_section service;
};

struct planner {
	const struct component_registry *registry;
	struct config_errors *errors;
	struct plan *plan;
};

static const struct config_field service_fields[] = {
	{ "extensions", CONFIG_NODE, FIELD(struct service_section, extensions), .help = "ids of extensions that run" },
	{ "pipelines", CONFIG_NODE, FIELD(struct service_section, pipelines), .help = "what leads where" },
	{ "telemetry", CONFIG_SECTION, FIELD(struct service_section, telemetry), .fields = telemetry_fields,
	  .help = "what wick says about itself" },
	{ 0 },
};

#define SECTION_OF(kind) FIELD(struct root, sections[kind])
static const struct config_field root_fields[] = {
	{ "receivers", CONFIG_NODE, SECTION_OF(COMPONENT_RECEIVER), .help = "where profiles come from" },
	{ "processors", CONFIG_NODE, SECTION_OF(COMPONENT_PROCESSOR), .help = "what changes them" },
	{ "exporters", CONFIG_NODE, SECTION_OF(COMPONENT_EXPORTER), .help = "where they go" },
	{ "connectors", CONFIG_NODE, SECTION_OF(COMPONENT_CONNECTOR), .help = "what joins pipelines" },
	{ "extensions", CONFIG_NODE, SECTION_OF(COMPONENT_EXTENSION), .help = "what serves all of them" },
	{ "service", CONFIG_SECTION, FIELD(struct root, service), .fields = service_fields, .help = "what runs" },
	{ 0 },
};

static const struct config_field pipeline_fields[] = {
	{ "receivers", CONFIG_NODE, FIELD(struct plan_pipeline, receiver_ids), .help = "ids, also of connectors" },
	{ "processors", CONFIG_NODE, FIELD(struct plan_pipeline, processor_ids), .help = "ids, in their order" },
	{ "exporters", CONFIG_NODE, FIELD(struct plan_pipeline, exporter_ids), .help = "ids, also of connectors" },
	{ 0 },
};

static bool is_empty(const struct config_node *node)
{
	if (!node || node->kind == NODE_NULL)
		return true;
	return (node->kind == NODE_MAP || node->kind == NODE_LIST) && !node->count;
}

bool plan_list_has(struct plan_list list, const struct plan_component *component)
{
	for (u32 i = 0; i < list.count; i++) {
		if (list.at[i] == component)
			return true;
	}
	return false;
}

static struct plan_component *find(const struct plan *plan, enum component_kind kind, const char *id)
{
	for (u32 i = 0; i < plan->component_count; i++) {
		if (plan->components[i].kind == kind && !strcmp(plan->components[i].id, id))
			return &plan->components[i];
	}
	return NULL;
}

/* ---- Components ---------------------------------------------------------------- */

static void refuse_type(struct planner *p, enum component_kind kind, struct config_place place, const char *path,
			const char *type)
{
	const char *nearest = component_nearest(p->registry, kind, type), *advice = component_advice(kind, type);

	if (advice)
		config_error(p->errors, place, path, "there is no %s of type %s: %s", component_kind_name(kind), type,
			     advice);
	else if (nearest)
		config_error(p->errors, place, path, "there is no %s of type %s; did you mean %s?",
			     component_kind_name(kind), type, nearest);
	else
		config_error(p->errors, place, path, "there is no %s of type %s; wick components lists those there are",
			     component_kind_name(kind), type);
}

static int read_options(struct planner *p, struct plan_component *component, const struct config_node *node,
			const char *path)
{
	const struct component_ops *ops = component->ops;
	int r;

	component->options = arena_zalloc(&p->plan->arena, ops->options_bytes ? ops->options_bytes : 1);
	if (!component->options)
		return arena_err(&p->plan->arena);
	if (ops->defaults)
		memcpy(component->options, ops->defaults, ops->options_bytes);
	r = config_decode(&p->plan->arena, node, ops->fields, path, component->options, p->errors);
	if (r == 0 && ops->check)
		ops->check(component->options, component->place, path, p->errors);
	if (r == 0 && ops->sends)
		sender_check((const void *)((const char *)component->options + ops->sender_at), component->place, path,
			     p->errors);
	return r == -EINVAL ? 0 : r;
}

static int add_component(struct planner *p, enum component_kind kind, const struct config_entry *entry)
{
	const struct plan_component *same;
	struct plan_component *component;
	char path[PATH_BYTES];
	struct component_id id;
	const char *why;
	int r;

	(void)snprintf(path, sizeof(path), "%s::%s", component_section_name(kind), entry->key);
	r = component_id_parse(&p->plan->arena, entry->key, &id, &why);
	if (r == -EINVAL)
		config_error(p->errors, entry->place, component_section_name(kind), "\"%s\" is no id: %s", entry->key,
			     why);
	if (r < 0)
		return r == -EINVAL ? 0 : r;
	same = find(p->plan, kind, id.whole);
	if (same) {
		config_error(p->errors, entry->place, path, "this is the same id as in line %u", same->place.line);
		return 0;
	}
	component = &p->plan->components[p->plan->component_count++];
	*component = (struct plan_component){ .kind = kind, .id = id.whole, .place = entry->place };
	component->node = entry->value;
	component->ops = component_find(p->registry, kind, id.type);
	if (!component->ops) {
		refuse_type(p, kind, entry->place, path, id.type);
		return 0;
	}
	if (strcmp(component->ops->type, id.type))
		config_warning(p->errors, entry->place, path, "the type %s is now called %s", id.type,
			       component->ops->type);
	return read_options(p, component, entry->value, path);
}

static int add_section(struct planner *p, enum component_kind kind, const struct config_node *section)
{
	const char *name = component_section_name(kind);
	int r = 0;

	if (is_empty(section))
		return 0;
	if (section->kind != NODE_MAP) {
		config_error(p->errors, section->place, name, "this must be a map from ids to options, not %s",
			     node_kind_name(section->kind));
		return 0;
	}
	if (section->count > PLAN_COMPONENTS_MAX - p->plan->component_count) {
		config_error(p->errors, section->place, name, "there are more than %u components", PLAN_COMPONENTS_MAX);
		return 0;
	}
	for (u32 i = 0; i < section->count && r >= 0; i++)
		r = add_component(p, kind, &section->map[i]);
	return r;
}

/* ---- What pipelines name ------------------------------------------------------- */

static void refuse_reference(struct planner *p, const enum component_kind *kinds, u32 kind_count,
			     struct config_place place, const char *path, const char *id)
{
	const struct plan *plan = p->plan;
	struct nearest nearest;

	nearest_init(&nearest, id);
	for (u32 i = 0; i < plan->component_count; i++) {
		if (plan->components[i].kind == kinds[0] || plan->components[i].kind == kinds[kind_count - 1])
			nearest_try(&nearest, plan->components[i].id);
	}
	if (nearest.best)
		config_error(p->errors, place, path,
			     "references %s \"%s\" which is not configured; did you mean \"%s\"?",
			     component_kind_name(kinds[0]), id, nearest.best);
	else
		config_error(p->errors, place, path, "references %s \"%s\" which is not configured",
			     component_kind_name(kinds[0]), id);
}

/* One id of a list: of the first kind, or else of the last. */
static int add_reference(struct planner *p, const struct config_node *item, const enum component_kind *kinds,
			 u32 kind_count, const char *path, struct plan_list *list)
{
	struct plan_component *component = NULL;
	struct component_id id;
	const char *why;
	int r;

	if (item->kind != NODE_STRING) {
		config_error(p->errors, item->place, path, "ids are strings, not %s", node_kind_name(item->kind));
		return 0;
	}
	r = component_id_parse(&p->plan->arena, item->text, &id, &why);
	if (r == -EINVAL)
		config_error(p->errors, item->place, path, "\"%s\" is no id: %s", item->text, why);
	if (r < 0)
		return r == -EINVAL ? 0 : r;
	for (u32 i = 0; i < kind_count && !component; i++)
		component = find(p->plan, kinds[i], id.whole);
	if (!component) {
		refuse_reference(p, kinds, kind_count, item->place, path, id.whole);
		return 0;
	}
	component->used = true;
	if (!plan_list_has(*list, component))
		list->at[list->count++] = component;
	else if (component->kind == COMPONENT_PROCESSOR)
		config_error(p->errors, item->place, path, "references processor \"%s\" multiple times", id.whole);
	else
		config_warning(p->errors, item->place, path, "\"%s\" is named twice, which is the same as once",
			       id.whole);
	return 0;
}

static int add_list(struct planner *p, const struct config_node *node, const enum component_kind *kinds, u32 kind_count,
		    const char *path, struct plan_list *list)
{
	int r = 0;

	if (is_empty(node))
		return 0;
	if (node->kind != NODE_LIST || node->count > PLAN_COMPONENTS_MAX) {
		config_error(p->errors, node->place, path, "the %s must be a list of at most %u ids, not %s",
			     component_section_name(kinds[0]), PLAN_COMPONENTS_MAX, node_kind_name(node->kind));
		return 0;
	}
	list->at = arena_zalloc(&p->plan->arena, node->count * sizeof(*list->at));
	if (!list->at)
		return arena_err(&p->plan->arena);
	for (u32 i = 0; i < node->count && r >= 0; i++)
		r = add_reference(p, node->list[i], kinds, kind_count, path, list);
	return r;
}

/* ---- Pipelines ----------------------------------------------------------------- */

/* Only profiles flow here; the other signals get a sentence of their own. */
static bool is_profiles(struct planner *p, const struct config_entry *entry, const char *path, const char *signal)
{
	static const char *const others[] = { "traces", "metrics", "logs" };
	struct nearest nearest;

	if (!strcmp(signal, "profiles"))
		return true;
	nearest_init(&nearest, signal);
	nearest_try(&nearest, "profiles");
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		nearest_try(&nearest, others[i]);
		if (!strcmp(signal, others[i])) {
			config_error(p->errors, entry->place, path,
				     "wick carries profiles only; remove this pipeline, or run an OTel Collector for "
				     "%s", signal);
			return false;
		}
	}
	config_error(p->errors, entry->place, path, "unknown signal %s; did you mean %s?", signal,
		     nearest.best ? nearest.best : "profiles");
	return false;
}

static int add_lists(struct planner *p, struct plan_pipeline *pipeline, const char *path)
{
	static const enum component_kind in[] = { COMPONENT_RECEIVER, COMPONENT_CONNECTOR };
	static const enum component_kind between[] = { COMPONENT_PROCESSOR };
	static const enum component_kind out[] = { COMPONENT_EXPORTER, COMPONENT_CONNECTOR };
	int r;

	if (is_empty(pipeline->receiver_ids))
		config_error(p->errors, pipeline->place, path, "must have at least one receiver");
	if (is_empty(pipeline->exporter_ids))
		config_error(p->errors, pipeline->place, path, "must have at least one exporter");
	r = add_list(p, pipeline->receiver_ids, in, 2, path, &pipeline->receivers);
	if (r == 0)
		r = add_list(p, pipeline->processor_ids, between, 1, path, &pipeline->processors);
	if (r == 0)
		r = add_list(p, pipeline->exporter_ids, out, 2, path, &pipeline->exporters);
	return r;
}

static int add_pipeline(struct planner *p, const struct config_entry *entry)
{
	struct plan_pipeline *pipeline = &p->plan->pipelines[p->plan->pipeline_count];
	char path[PATH_BYTES];
	struct component_id id;
	const char *why;
	int r;

	(void)snprintf(path, sizeof(path), "service::pipelines::%s", entry->key);
	r = component_id_parse(&p->plan->arena, entry->key, &id, &why);
	if (r == -EINVAL)
		config_error(p->errors, entry->place, "service::pipelines", "\"%s\" is no id: %s", entry->key, why);
	if (r == -EINVAL || (r == 0 && !is_profiles(p, entry, path, id.type)))
		return 0;
	if (r < 0)
		return r;
	*pipeline = (struct plan_pipeline){ .id = id.whole, .place = entry->place };
	p->plan->pipeline_count++;
	r = config_decode(&p->plan->arena, entry->value, pipeline_fields, path, pipeline, p->errors);
	if (r < 0)
		return r == -EINVAL ? 0 : r;
	return add_lists(p, pipeline, path);
}

static int add_pipelines(struct planner *p, const struct config_node *node, struct config_place place)
{
	int r = 0;

	if (is_empty(node)) {
		config_error(p->errors, node ? node->place : place, "service::pipelines",
			     "service must have at least one pipeline");
		return 0;
	}
	if (node->kind != NODE_MAP || node->count > PLAN_PIPELINES_MAX) {
		config_error(p->errors, node->place, "service::pipelines",
			     "this must be a map of at most %u pipelines, not %s", PLAN_PIPELINES_MAX,
			     node_kind_name(node->kind));
		return 0;
	}
	p->plan->pipelines = arena_zalloc(&p->plan->arena, node->count * sizeof(*p->plan->pipelines));
	if (!p->plan->pipelines)
		return arena_err(&p->plan->arena);
	for (u32 i = 0; i < node->count && r >= 0; i++)
		r = add_pipeline(p, &node->map[i]);
	return r;
}

/* ---- All of it ------------------------------------------------------------------ */

static void check_sections(struct planner *p, const struct config *config, const struct root *root)
{
	if (is_empty(root->sections[COMPONENT_RECEIVER]))
		config_error(p->errors, config->root->place, "", "no receiver configuration specified in config");
	if (is_empty(root->sections[COMPONENT_EXPORTER]))
		config_error(p->errors, config->root->place, "", "no exporter configuration specified in config");
}

static void check_connector_ids(struct planner *p)
{
	static const enum component_kind others[] = { COMPONENT_RECEIVER, COMPONENT_EXPORTER };
	char path[PATH_BYTES];

	for (u32 i = 0; i < p->plan->component_count; i++) {
		const struct plan_component *c = &p->plan->components[i];

		for (int k = 0; k < 2 && c->kind == COMPONENT_CONNECTOR; k++) {
			const char *other = component_kind_name(others[k]);

			(void)snprintf(path, sizeof(path), "connectors::%s", c->id);
			if (find(p->plan, others[k], c->id))
				config_error(p->errors, c->place, path,
					     "ambiguous ID: found both \"%s\" %s and \"%s\" connector; rename the "
					     "connector (e.g. to \"%s/connector\")", c->id, other, c->id, c->id);
		}
	}
}

static void warn_unused(struct planner *p)
{
	char path[PATH_BYTES];

	for (u32 i = 0; i < p->plan->component_count; i++) {
		const struct plan_component *c = &p->plan->components[i];
		bool is_extension = c->kind == COMPONENT_EXTENSION;

		(void)snprintf(path, sizeof(path), "%s::%s", component_section_name(c->kind), c->id);
		if (!c->used)
			config_warning(p->errors, c->place, path, "%s it, so it does not run",
				       is_extension ? "service::extensions does not name" : "no pipeline names");
	}
}

static int plan_fill(struct planner *p, const struct config *config)
{
	static const enum component_kind extension[] = { COMPONENT_EXTENSION };
	const struct config_node *service = config_get(config->root, "service");
	struct root root = { .service.telemetry = telemetry_defaults };
	int r;

	if (is_empty(config->root)) {
		config_error(p->errors, config->root->place, "", "empty configuration file");
		return 0;
	}
	r = config_decode(&p->plan->arena, config->root, root_fields, "", &root, p->errors);
	if (r < 0 && r != -EINVAL)
		return r;
	telemetry_check(&root.service.telemetry, service ? service->place : config->root->place, "service::telemetry",
			p->errors);
	p->plan->telemetry = root.service.telemetry;
	check_sections(p, config, &root);
	for (enum component_kind kind = 0; kind < COMPONENT_KINDS; kind++) {
		r = add_section(p, kind, root.sections[kind]);
		if (r < 0)
			return r;
	}
	check_connector_ids(p);
	r = add_list(p, root.service.extensions, extension, 1, "service::extensions", &p->plan->extensions);
	if (r == 0)
		r = add_pipelines(p, root.service.pipelines, service ? service->place : config->root->place);
	if (r == 0)
		r = plan_connect(p->plan, p->errors);
	if (r < 0)
		return r;
	plan_check_extensions(p->plan, p->errors);
	warn_unused(p);
	return 0;
}

int plan_make(const struct component_registry *registry, const struct config *config, struct config_errors *errors,
	      struct plan **ret_plan)
{
	_cleanup_(plan_freep) struct plan *plan = calloc(1, sizeof(*plan));
	struct planner p = { registry, errors, plan };
	u32 before = errors->error_count;
	int r;

	if (!plan)
		return -ENOMEM;
	arena_init(&plan->arena, ARENA_MAX);
	plan->components = arena_alloc(&plan->arena, PLAN_COMPONENTS_MAX * sizeof(*plan->components));
	if (!plan->components)
		return arena_err(&plan->arena);
	r = plan_fill(&p, config);
	if (r < 0)
		return r;
	if (errors->error_count != before)
		return -EINVAL;
	*ret_plan = TAKE(plan);
	return 0;
}

void plan_free(struct plan *plan)
{
	if (!plan)
		return;
	arena_done(&plan->arena);
	free(plan);
}
