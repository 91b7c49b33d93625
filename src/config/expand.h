/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ${...} in the values of a tree, as the Collector's confmap does it:
 *
 *  - The innermost is first; what it gives is looked at again.
 *  - A value that is one ${...} as a whole becomes what its text is in YAML, a
 *    number or a map say; the text is kept for options that are strings.
 *    Inside a longer string the text is put in as it is.
 *  - $${ is not expanded; at the end $$ becomes $. Keys are not expanded.
 *
 * Files that name themselves end at CONFIG_EXPANSIONS_MAX, CONFIG_DEPTH_MAX or EXPAND_WORK_MAX.
 */
#ifndef CONFIG_EXPAND_H
#define CONFIG_EXPAND_H

#include "config/config.h"
#include "config/tree.h"

#define EXPAND_WORK_MAX (256u << 20)	/* bytes of text that are looked at, all in all */

/* All values below the node, which may be replaced itself. -EINVAL with errors, -ENOMEM. */
int expand_tree(struct tree *tree, const struct config_providers *providers, struct config_node **node);

#endif
