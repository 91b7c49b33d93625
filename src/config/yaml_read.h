/* SPDX-License-Identifier: Apache-2.0 */
/*
 * YAML text to a tree, by libyaml, from which Go's yaml is derived: files read
 * here as they do there. Duplicate keys are errors; anchors, aliases and merge
 * keys (<<) work and count against the tree's budget; only the first document is
 * read.
 */
#ifndef CONFIG_YAML_READ_H
#define CONFIG_YAML_READ_H

#include <stddef.h>

#include "config/tree.h"

#define YAML_ANCHORS_MAX 1000

struct yaml_source {
	const char *name;	/* what places are called by; must outlive the tree */
	const char *text;
	size_t bytes;
	bool no_lines;		/* lines and columns mean nothing to the reader of a message */
};

/* -EINVAL with an error added, -ENOMEM. */
int yaml_read(struct tree *tree, const struct yaml_source *source, struct config_node **ret_node);

#endif
