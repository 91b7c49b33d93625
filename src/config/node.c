// SPDX-License-Identifier: Apache-2.0
#include "config/node.h"

#include <string.h>

const struct config_node *config_get(const struct config_node *node, const char *key)
{
	if (!node || node->kind != NODE_MAP)
		return NULL;
	for (u32 i = 0; i < node->count; i++) {
		if (!strcmp(node->map[i].key, key))
			return node->map[i].value;
	}
	return NULL;
}

const char *node_kind_name(enum node_kind kind)
{
	static const char *const names[] = {
		[NODE_NULL] = "nothing",
		[NODE_BOOL] = "a boolean",
		[NODE_INT] = "a whole number",
		[NODE_DOUBLE] = "a number",
		[NODE_STRING] = "a string",
		[NODE_LIST] = "a list",
		[NODE_MAP] = "a map",
	};

	return names[kind];
}
