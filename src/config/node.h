/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A configuration as a tree: what YAML said, with ${...} expanded and all
 * sources merged. Each node knows the file, line and column that it came from.
 *
 * Trees live in the arena of a struct config and do not change once loaded.
 */
#ifndef CONFIG_NODE_H
#define CONFIG_NODE_H

#include <stdbool.h>

#include "base/types.h"

#define CONFIG_DEPTH_MAX 64

enum node_kind { NODE_NULL, NODE_BOOL, NODE_INT, NODE_DOUBLE, NODE_STRING, NODE_LIST, NODE_MAP };

/* Where something was written. file is "" and line 0 for what no one wrote. */
struct config_place {
	const char *file;	/* a path, or "env:NAME", "yaml:", "--set" */
	u32 line, column;	/* from 1 */
};

struct config_entry {
	const char *key;
	struct config_place place;	/* of the key */
	struct config_node *value;
};

struct config_node {
	enum node_kind kind;
	u32 count;			/* of LIST and MAP */
	struct config_place place;
	const char *text;		/* scalars: as written, after expansion; NULL else, but for a whole ${...} */
	bool expanded;			/* the whole value was one ${...} */
	union {
		bool boolean;
		s64 integer;
		double real;
		struct config_node **list;
		struct config_entry *map;	/* in the order they were written; keys are unique */
	};
};

/* The value of a key of a MAP, or NULL; node may be NULL. */
const struct config_node *config_get(const struct config_node *node, const char *key);

/* "a map", "a list", "a string", ... */
const char *node_kind_name(enum node_kind kind);

/* Whether both say the same, but for those keys of the outermost map that skip() tells; it may be NULL. */
bool node_is_same(const struct config_node *a, const struct config_node *b, bool (*skip)(const char *key));

#endif
