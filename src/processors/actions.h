/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the resource and attributes processors do: a list of actions on
 * attributes, one after the other.
 *
 *	insert, update, upsert	a value, that of another attribute, or a default
 *	delete, hash		a key, and keys that a pattern matches
 *	extract			named groups of a pattern become attributes
 *	convert			to string, int or double; what cannot be stays
 *
 * Immutable once made: several threads may apply them.
 */
#ifndef PROCESSORS_ACTIONS_H
#define PROCESSORS_ACTIONS_H

#include "base/cleanup.h"
#include "base/pattern.h"
#include "config/fields.h"
#include "profile/attrs.h"

struct actions;
struct buf;

struct action_options {
	const char *key, *action, *from_attribute, *pattern, *converted_type;
	const struct config_node *value, *default_value;
};
extern const struct config_field action_fields[];
#define ACTION_FIELDS .fields = action_fields, .element_bytes = sizeof(struct action_options), \
	.element_defaults = &action_defaults
extern const struct action_options action_defaults;

/* -EINVAL and a sentence in `why` that names the action; -ENOMEM. */
int actions_new(const struct config_sections *options, struct actions **ret_actions, struct buf *why);
void actions_free(struct actions *actions);
DEFINE_CLEANUP(struct actions *, actions_free)

/* For component_ops.check. */
void actions_check(const struct config_sections *options, struct config_place place, const char *path,
		   struct config_errors *errors);

/* Memory that runs out sticks in the profile. */
void actions_apply(const struct actions *actions, struct attrs *attrs, struct pattern_scratch *scratch);

/* A value of a configuration as an attribute's; strings are borrowed from it. -E2BIG: nested too deeply. */
int any_of_node(struct arena *arena, const struct config_node *node, struct any *ret_any);

#endif
