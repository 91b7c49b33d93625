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

static bool is_same_scalar(const struct config_node *a, const struct config_node *b)
{
	return a->kind == NODE_NULL || (a->text && b->text && !strcmp(a->text, b->text));
}

static bool is_same(const struct config_node *a, const struct config_node *b)
{
	if (!a || !b || a->kind != b->kind || a->count != b->count)
		return a == b;
	for (u32 i = 0; a->kind == NODE_MAP && i < a->count; i++)
		if (strcmp(a->map[i].key, b->map[i].key) || !is_same(a->map[i].value, b->map[i].value))
			return false;
	for (u32 i = 0; a->kind == NODE_LIST && i < a->count; i++)
		if (!is_same(a->list[i], b->list[i]))
			return false;
	return a->kind == NODE_MAP || a->kind == NODE_LIST || is_same_scalar(a, b);
}

/* All that a says, but for what is skipped. */
static bool has_same(const struct config_node *a, const struct config_node *b, bool (*skip)(const char *key))
{
	for (u32 i = 0; i < a->count; i++)
		if (!skip(a->map[i].key) && !is_same(a->map[i].value, config_get(b, a->map[i].key)))
			return false;
	return true;
}

bool node_is_same(const struct config_node *a, const struct config_node *b, bool (*skip)(const char *key))
{
	if (!skip || !a || !b || a->kind != NODE_MAP || b->kind != NODE_MAP)
		return is_same(a, b);
	return has_same(a, b, skip) && has_same(b, a, skip);
}
