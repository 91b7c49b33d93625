/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Building a configuration's tree: nodes come from one arena and one budget, so
 * that neither aliases nor ${...} can blow a small file up. What goes past a
 * limit is one error, with its place, and -EINVAL; without memory -ENOMEM.
 *
 * Nodes may be shared and changed while the tree is built; config_load() gives it away as const.
 */
#ifndef CONFIG_TREE_H
#define CONFIG_TREE_H

#include "base/arena.h"
#include "config/errors.h"
#include "config/node.h"

#define TREE_KEYS_MAX 2000	/* of one map: they are searched one by one */

struct tree {
	struct arena *arena;
	struct config_errors *errors;
	u32 node_count, nodes_max;
};

int tree_new(struct tree *tree, enum node_kind kind, struct config_place place, struct config_node **ret_node);

/* Appends to a LIST. */
int tree_append(struct tree *tree, struct config_node *list, struct config_node *value);

/* The entry of a MAP, or NULL. */
struct config_entry *tree_find(struct config_node *map, const char *key);

/* Adds a key, which must be new, to a MAP. key is borrowed from the arena. */
int tree_add(struct tree *tree, struct config_node *map, const char *key, struct config_place place,
	     struct config_node *value);

/* A copy of all of it, for an alias. */
int tree_copy(struct tree *tree, const struct config_node *node, u32 depth, struct config_node **ret_node);

/* Maps deeply, anything else replaced; `from` is used up. */
int tree_merge(struct tree *tree, struct config_node *into, struct config_node *from);

/*
 * What merging with appended lists does before: from's lists of extensions, receivers and exporters below
 * service start with what into has there, each once.
 */
int tree_append_lists(struct tree *tree, struct config_node *into, struct config_node *from);

/* Keys with :: become maps in maps, but not below lists: "a::b: 1" is "a: {b: 1}". */
int tree_split_keys(struct tree *tree, struct config_node *map, u32 depth, struct config_node **ret_map);

#endif
