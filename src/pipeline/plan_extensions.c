// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>

#include "pipeline/plan.h"

#define PATH_BYTES 512

static bool is_named(const struct plan *plan, const char *id)
{
	for (u32 i = 0; i < plan->extensions.count; i++) {
		if (!strcmp(plan->extensions.at[i]->id, id))
			return true;
	}
	return false;
}

static void check_map(const struct plan *plan, const struct config_node *node, const struct config_field *fields,
		      const char *path, struct config_errors *errors)
{
	for (u32 i = 0; node->kind == NODE_MAP && i < node->count; i++) {
		const struct config_node *value = node->map[i].value;
		const struct config_field *field = config_find_field(fields, node->map[i].key);
		char below[PATH_BYTES];

		if (!field)
			continue;
		(void)snprintf(below, sizeof(below), "%.400s::%.100s", path, field->name);
		if (field->type == CONFIG_SECTION)
			check_map(plan, value, field->fields, below, errors);
		else if (field->extension && value->kind == NODE_STRING && *value->text && !is_named(plan, value->text))
			config_error(errors, value->place, below, "service::extensions does not name \"%s\"",
				     value->text);
	}
}

void plan_check_extensions(const struct plan *plan, struct config_errors *errors)
{
	char path[PATH_BYTES];

	for (u32 i = 0; i < plan->component_count; i++) {
		const struct plan_component *c = &plan->components[i];

		if (!c->ops || !c->used)
			continue;
		(void)snprintf(path, sizeof(path), "%s::%.400s", component_section_name(c->kind), c->id);
		check_map(plan, c->node, c->ops->fields, path, errors);
	}
}
