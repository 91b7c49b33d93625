/* SPDX-License-Identifier: Apache-2.0 */
/* Which components there are, by kind and type. Built once, by cmd/components.c; never changes. */
#ifndef PIPELINE_REGISTRY_H
#define PIPELINE_REGISTRY_H

#include "pipeline/component.h"

/* Each list ends with NULL. */
struct component_registry {
	const struct component_ops *const *of_kind[COMPONENT_KINDS];
};

/* By type or older name, or NULL. */
const struct component_ops *component_find(const struct component_registry *registry, enum component_kind kind,
					   const char *type);

/* The type or older name that is closest to a mistyped one, or NULL. */
const char *component_nearest(const struct component_registry *registry, enum component_kind kind, const char *type);

/* What to do about a component that the Collector has and we have not, or NULL. */
const char *component_advice(enum component_kind kind, const char *type);

const char *component_kind_name(enum component_kind kind);	/* "receiver" */
const char *component_section_name(enum component_kind kind);	/* "receivers" */

#endif
