// SPDX-License-Identifier: Apache-2.0
#include "config/tree.h"

#include <errno.h>
#include <string.h>

#define FIRST_CAPACITY 4

int tree_new(struct tree *tree, enum node_kind kind, struct config_place place, struct config_node **ret_node)
{
	struct config_node *node;

	if (tree->node_count == tree->nodes_max) {
		config_error(tree->errors, place, "", "more than %u values, counting those that aliases repeat",
			     tree->nodes_max);
		return -EINVAL;
	}
	node = arena_zalloc(tree->arena, sizeof(*node));
	if (!node)
		return -ENOMEM;
	tree->node_count++;
	node->kind = kind;
	node->place = place;
	*ret_node = node;
	return 0;
}

/* Lists and maps grow here only, so that the count tells the capacity: the next power of two. */
static void *grown(struct tree *tree, const void *at, u32 count, size_t element_bytes)
{
	void *more;

	if (count && (count < FIRST_CAPACITY || (count & (count - 1))))
		return (void *)at;
	more = arena_alloc(tree->arena, (count ? 2 * count : FIRST_CAPACITY) * element_bytes);
	if (more && count)
		memcpy(more, at, count * element_bytes);
	return more;
}

int tree_append(struct tree *tree, struct config_node *list, struct config_node *value)
{
	struct config_node **at = grown(tree, list->list, list->count, sizeof(*at));

	if (!at)
		return -ENOMEM;
	list->list = at;
	at[list->count++] = value;
	return 0;
}

struct config_entry *tree_find(struct config_node *map, const char *key)
{
	for (u32 i = 0; i < map->count; i++) {
		if (!strcmp(map->map[i].key, key))
			return &map->map[i];
	}
	return NULL;
}

int tree_add(struct tree *tree, struct config_node *map, const char *key, struct config_place place,
	     struct config_node *value)
{
	struct config_entry *at;

	if (map->count == TREE_KEYS_MAX) {
		config_error(tree->errors, place, "", "more than %d keys in one map", TREE_KEYS_MAX);
		return -EINVAL;
	}
	at = grown(tree, map->map, map->count, sizeof(*at));
	if (!at)
		return -ENOMEM;
	map->map = at;
	at[map->count++] = (struct config_entry){ key, place, value };
	return 0;
}

static int copy_children(struct tree *tree, const struct config_node *node, u32 depth, struct config_node *copy)
{
	for (u32 i = 0; i < node->count; i++) {
		const struct config_node *from = node->kind == NODE_MAP ? node->map[i].value : node->list[i];
		struct config_node *child;
		int r = tree_copy(tree, from, depth + 1, &child);

		if (r == 0 && node->kind == NODE_MAP)
			r = tree_add(tree, copy, node->map[i].key, node->map[i].place, child);
		else if (r == 0)
			r = tree_append(tree, copy, child);
		if (r < 0)
			return r;
	}
	return 0;
}

int tree_copy(struct tree *tree, const struct config_node *node, u32 depth, struct config_node **ret_node)
{
	struct config_node *copy;
	int r;

	if (depth > CONFIG_DEPTH_MAX) {
		config_error(tree->errors, node->place, "", "nested more than %d deep", CONFIG_DEPTH_MAX);
		return -EINVAL;
	}
	r = tree_new(tree, node->kind, node->place, &copy);
	if (r < 0)
		return r;
	if (node->kind != NODE_MAP && node->kind != NODE_LIST)
		*copy = *node;
	else
		r = copy_children(tree, node, depth, copy);
	*ret_node = copy;
	return r;
}

static int put(struct tree *tree, struct config_node *map, const struct config_entry *entry)
{
	struct config_entry *there = tree_find(map, entry->key);

	if (!there)
		return tree_add(tree, map, entry->key, entry->place, entry->value);
	if (there->value->kind == NODE_MAP && entry->value->kind == NODE_MAP)
		return tree_merge(tree, there->value, entry->value);
	*there = *entry;
	return 0;
}

int tree_merge(struct tree *tree, struct config_node *into, struct config_node *from)
{
	int r = 0;

	for (u32 i = 0; r == 0 && i < from->count; i++)
		r = put(tree, into, &from->map[i]);
	return r;
}

static bool has_text(const struct config_node *list, const char *text)
{
	for (u32 i = 0; i < list->count; i++) {
		if (list->list[i]->text && !strcmp(list->list[i]->text, text))
			return true;
	}
	return false;
}

/* Elements are ids; what is none stands for itself, and is refused later. */
static int join_lists(struct tree *tree, const struct config_node *first, struct config_node **second)
{
	struct config_node *joined;
	int r = tree_new(tree, NODE_LIST, (*second)->place, &joined);

	for (u32 i = 0; r == 0 && i < first->count; i++)
		r = tree_append(tree, joined, first->list[i]);
	for (u32 i = 0; r == 0 && i < (*second)->count; i++) {
		struct config_node *element = (*second)->list[i];

		if (!element->text || !has_text(first, element->text))
			r = tree_append(tree, joined, element);
	}
	if (r == 0)
		*second = joined;
	return r;
}

static int append_below(struct tree *tree, struct config_node *into, struct config_node *from, bool top)
{
	int r = 0;

	for (u32 i = 0; r == 0 && i < from->count; i++) {
		struct config_entry *add = &from->map[i], *there = tree_find(into, add->key);
		bool joins = !strcmp(add->key, "receivers") || !strcmp(add->key, "exporters") ||
			     (top && !strcmp(add->key, "extensions"));

		if (!there || there->value->kind != add->value->kind)
			continue;
		if (add->value->kind == NODE_MAP)
			r = append_below(tree, there->value, add->value, false);
		else if (add->value->kind == NODE_LIST && joins)
			r = join_lists(tree, there->value, &add->value);
	}
	return r;
}

int tree_append_lists(struct tree *tree, struct config_node *into, struct config_node *from)
{
	struct config_entry *service = tree_find(into, "service"), *more = tree_find(from, "service");

	if (!service || !more || service->value->kind != NODE_MAP || more->value->kind != NODE_MAP)
		return 0;
	return append_below(tree, service->value, more->value, true);
}

/* Puts a value where a key of the form "a::b::c" says. */
static int put_path(struct tree *tree, struct config_node *map, struct config_entry entry, u32 depth)
{
	const char *colons = strstr(entry.key, "::");
	struct config_node *below;
	struct config_entry *there;
	const char *first;
	int r;

	if (!*entry.key || colons == entry.key) {
		config_error(tree->errors, entry.place, "", "a key is missing before or behind ::");
		return -EINVAL;
	}
	if (!colons)
		return put(tree, map, &entry);
	if (depth > CONFIG_DEPTH_MAX) {
		config_error(tree->errors, entry.place, "", "nested more than %d deep", CONFIG_DEPTH_MAX);
		return -EINVAL;
	}
	first = arena_strndup(tree->arena, entry.key, colons - entry.key);
	if (!first)
		return -ENOMEM;
	entry.key = colons + 2;
	there = tree_find(map, first);
	if (there && there->value->kind == NODE_MAP)
		return put_path(tree, there->value, entry, depth + 1);
	r = tree_new(tree, NODE_MAP, entry.value->place, &below);
	if (r == 0)
		r = put(tree, map, &(struct config_entry){ first, entry.place, below });
	return r < 0 ? r : put_path(tree, below, entry, depth + 1);
}

int tree_split_keys(struct tree *tree, struct config_node *map, u32 depth, struct config_node **ret_map)
{
	struct config_node *split;
	int r = tree_new(tree, NODE_MAP, map->place, &split);

	for (u32 i = 0; r == 0 && i < map->count; i++) {
		struct config_entry entry = map->map[i];

		if (entry.value->kind == NODE_MAP)
			r = tree_split_keys(tree, entry.value, depth + 1, &entry.value);
		if (r == 0)
			r = put_path(tree, split, entry, depth + 1);
	}
	if (r == 0)
		*ret_map = split;
	return r;
}
