// SPDX-License-Identifier: Apache-2.0
#include "pipeline/registry.h"

#include <string.h>

#include "base/nearest.h"

static bool is_called(const struct component_ops *ops, const char *type)
{
	if (!strcmp(ops->type, type))
		return true;
	for (const char *const *alias = ops->aliases; alias && *alias; alias++) {
		if (!strcmp(*alias, type))
			return true;
	}
	return false;
}

const struct component_ops *component_find(const struct component_registry *registry, enum component_kind kind,
					   const char *type)
{
	for (const struct component_ops *const *ops = registry->of_kind[kind]; ops && *ops; ops++) {
		if (is_called(*ops, type))
			return *ops;
	}
	return NULL;
}

const char *component_nearest(const struct component_registry *registry, enum component_kind kind, const char *type)
{
	struct nearest nearest;

	nearest_init(&nearest, type);
	for (const struct component_ops *const *ops = registry->of_kind[kind]; ops && *ops; ops++) {
		nearest_try(&nearest, (*ops)->type);
		for (const char *const *alias = (*ops)->aliases; alias && *alias; alias++)
			nearest_try(&nearest, *alias);
	}
	return nearest.best;
}

static const struct {
	const char *one, *many;
} names[COMPONENT_KINDS] = {
	[COMPONENT_RECEIVER] = { "receiver", "receivers" },
	[COMPONENT_PROCESSOR] = { "processor", "processors" },
	[COMPONENT_EXPORTER] = { "exporter", "exporters" },
	[COMPONENT_CONNECTOR] = { "connector", "connectors" },
	[COMPONENT_EXTENSION] = { "extension", "extensions" },
};

const char *component_kind_name(enum component_kind kind)
{
	return names[kind].one;
}

const char *component_section_name(enum component_kind kind)
{
	return names[kind].many;
}
