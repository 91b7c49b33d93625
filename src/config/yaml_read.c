// SPDX-License-Identifier: Apache-2.0
#include "config/yaml_read.h"

#include <errno.h>
#include <string.h>
#include <yaml.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "config/scalar.h"

#define TAG_PREFIX "tag:yaml.org,2002:"

struct anchor {
	const char *name;
	struct config_node *node;
};

struct reader {
	struct tree *tree;
	const struct yaml_source *source;
	yaml_parser_t parser;
	struct anchor *anchors;
	u32 anchor_count, anchor_cap;
};

static void reader_done(struct reader *reader)
{
	yaml_parser_delete(&reader->parser);
	free(reader->anchors);
}

static void event_done(yaml_event_t *event)
{
	yaml_event_delete(event);
}

static struct config_place place_of(const struct reader *reader, yaml_mark_t mark)
{
	struct config_place place = { .file = reader->source->name };

	if (!reader->source->no_lines) {
		place.line = (u32)mark.line + 1;
		place.column = (u32)mark.column + 1;
	}
	return place;
}

#define refuse(reader, place, ...) ({ config_error((reader)->tree->errors, place, "", __VA_ARGS__); -EINVAL; })

/* The commonest syntax error of all, and the one whose message helps least. */
static bool is_tab(const struct reader *reader, yaml_mark_t mark)
{
	const char *at = reader->source->text, *end = at + reader->source->bytes;

	for (size_t line = 0; at && line < mark.line; line++) {
		at = memchr(at, '\n', end - at);
		at = at ? at + 1 : NULL;
	}
	return at && mark.column < (size_t)(end - at) && at[mark.column] == '\t';
}

static int refuse_syntax(struct reader *reader)
{
	const yaml_parser_t *p = &reader->parser;
	struct config_place place = place_of(reader, p->problem_mark);

	switch (p->error) {
	case YAML_MEMORY_ERROR:
		return -ENOMEM;
	case YAML_READER_ERROR:
		place = (struct config_place){ .file = reader->source->name };
		return refuse(reader, place, "not text in UTF-8: %s at byte %zu", p->problem, p->problem_offset);
	default:
		break;
	}
	if (is_tab(reader, p->problem_mark))
		return refuse(reader, place, "not valid YAML: a tab; indent with blanks");
	if (p->context && !reader->source->no_lines)
		return refuse(reader, place, "not valid YAML: %s, %s that starts in line %zu", p->problem, p->context,
			      p->context_mark.line + 1);
	return refuse(reader, place, "not valid YAML: %s", p->problem);
}

static int next(struct reader *reader, yaml_event_t *event)
{
	return yaml_parser_parse(&reader->parser, event) ? 0 : refuse_syntax(reader);
}

/* ---- Anchors ---------------------------------------------------------------------- */

/* An anchor is known once its value is complete: an alias inside of it finds nothing, and there are no cycles. */
static int remember_anchor(struct reader *reader, const char *name, struct config_node *node)
{
	struct anchor *a;

	if (!name)
		return 0;
	if (reader->anchor_count == YAML_ANCHORS_MAX)
		return refuse(reader, node->place, "more than %d anchors", YAML_ANCHORS_MAX);
	if (array_reserve(&reader->anchors, &reader->anchor_cap, reader->anchor_count + 1, sizeof(*a)) < 0)
		return -ENOMEM;
	a = &reader->anchors[reader->anchor_count];
	a->name = arena_strndup(reader->tree->arena, name, strlen(name));
	a->node = node;
	if (!a->name)
		return -ENOMEM;
	reader->anchor_count++;
	return 0;
}

/* Names may be used again: the last one counts. */
static int read_alias(struct reader *reader, const yaml_event_t *event, u32 depth, struct config_node **ret_node)
{
	const char *name = (const char *)event->data.alias.anchor;

	for (u32 i = reader->anchor_count; i-- > 0;) {
		if (!strcmp(reader->anchors[i].name, name))
			return tree_copy(reader->tree, reader->anchors[i].node, depth, ret_node);
	}
	return refuse(reader, place_of(reader, event->start_mark), "the alias *%s names no anchor before it", name);
}

/* ---- Scalars ------------------------------------------------------------------------ */

/* A tag may only say what the text is anyway, or that it is a string. */
static int apply_tag(struct reader *reader, const char *tag, struct config_node *node)
{
	static const struct {
		const char *tag;
		enum node_kind kind;
	} tags[] = { { "null", NODE_NULL }, { "bool", NODE_BOOL }, { "int", NODE_INT }, { "float", NODE_DOUBLE } };
	size_t prefix = strlen(TAG_PREFIX);

	if (strncmp(tag, TAG_PREFIX, prefix) || !strcmp(tag + prefix, "str")) {
		node->kind = NODE_STRING;
		return 0;
	}
	for (size_t i = 0; i < sizeof(tags) / sizeof(tags[0]); i++) {
		if (strcmp(tags[i].tag, tag + prefix))
			continue;
		scalar_resolve(node->text, node);
		if (tags[i].kind == NODE_DOUBLE && node->kind == NODE_INT) {
			node->kind = NODE_DOUBLE;
			node->real = (double)node->integer;
		}
		if (node->kind == tags[i].kind)
			return 0;
		return refuse(reader, node->place, "%s is not of the type that its tag !!%s says", node->text,
			      tag + prefix);
	}
	return refuse(reader, node->place, "the tag !!%s is not supported; remove it", tag + prefix);
}

static int read_scalar(struct reader *reader, const yaml_event_t *event, struct config_node **ret_node)
{
	const char *value = (const char *)event->data.scalar.value, *tag = (const char *)event->data.scalar.tag;
	size_t len = event->data.scalar.length;
	struct config_node *node;
	int r = tree_new(reader->tree, NODE_STRING, place_of(reader, event->start_mark), &node);

	if (r < 0)
		return r;
	if (memchr(value, '\0', len))
		return refuse(reader, node->place, "a string with a NUL character in it");
	node->text = arena_strndup(reader->tree->arena, value, len);
	if (!node->text)
		return -ENOMEM;
	if (tag && strcmp(tag, "!"))
		r = apply_tag(reader, tag, node);
	else if (!tag && event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE)
		scalar_resolve(node->text, node);
	*ret_node = node;
	return r;
}

/* ---- Lists and maps ------------------------------------------------------------------ */

static int read_value(struct reader *reader, const yaml_event_t *event, u32 depth, struct config_node **ret_node);

static int read_list(struct reader *reader, u32 depth, struct config_node *list)
{
	for (;;) {
		_cleanup_(event_done) yaml_event_t event = { 0 };
		struct config_node *value;
		int r = next(reader, &event);

		if (r < 0 || event.type == YAML_SEQUENCE_END_EVENT)
			return r;
		r = read_value(reader, &event, depth + 1, &value);
		if (r == 0)
			r = tree_append(reader->tree, list, value);
		if (r < 0)
			return r;
	}
}

/* What the map itself says goes before what it merges in, wherever << stands. */
static int merge_keys(struct reader *reader, struct config_node *map, const struct config_node *from)
{
	int r = 0;

	if (from->kind == NODE_LIST) {
		for (u32 i = 0; r == 0 && i < from->count; i++) {
			if (from->list[i]->kind != NODE_MAP)
				return refuse(reader, from->place, "<< takes a map or a list of maps");
			r = merge_keys(reader, map, from->list[i]);
		}
		return r;
	}
	if (from->kind != NODE_MAP)
		return refuse(reader, from->place, "<< takes a map or a list of maps");
	for (u32 i = 0; r == 0 && i < from->count; i++) {
		if (!tree_find(map, from->map[i].key))
			r = tree_add(reader->tree, map, from->map[i].key, from->map[i].place, from->map[i].value);
	}
	return r;
}

static int read_key(struct reader *reader, const yaml_event_t *event, u32 depth, struct config_node **ret_key)
{
	struct config_node *key;
	int r = read_value(reader, event, depth, &key);

	if (r < 0)
		return r;
	if (key->kind == NODE_LIST || key->kind == NODE_MAP)
		return refuse(reader, key->place, "%s cannot be a key", node_kind_name(key->kind));
	if (!*key->text)
		return refuse(reader, key->place, "a key is missing before the colon");
	*ret_key = key;
	return 0;
}

static bool is_merge_key(const yaml_event_t *event)
{
	return event->type == YAML_SCALAR_EVENT && event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
	       !strcmp((const char *)event->data.scalar.value, "<<");
}

static int add_entry(struct reader *reader, struct config_node *map, const struct config_node *key,
		     struct config_node *value)
{
	const struct config_entry *there = tree_find(map, key->text);

	if (there)
		return refuse(reader, key->place, "the key %s is already there, in line %u", key->text,
			      there->place.line);
	return tree_add(reader->tree, map, key->text, key->place, value);
}

static int read_map(struct reader *reader, u32 depth, struct config_node *map)
{
	struct config_node *merged = NULL;

	for (;;) {
		_cleanup_(event_done) yaml_event_t key_event = { 0 }, event = { 0 };
		struct config_node *key, *value;
		int r = next(reader, &key_event);

		if (r < 0)
			return r;
		if (key_event.type == YAML_MAPPING_END_EVENT)
			return merged ? merge_keys(reader, map, merged) : 0;
		r = read_key(reader, &key_event, depth + 1, &key);
		if (r == 0)
			r = next(reader, &event);
		if (r == 0)
			r = read_value(reader, &event, depth + 1, &value);
		if (r < 0)
			return r;
		if (!is_merge_key(&key_event))
			r = add_entry(reader, map, key, value);
		else if (merged)
			r = refuse(reader, key->place, "the key << is already there");
		else
			merged = value;
		if (r < 0)
			return r;
	}
}

static int read_value(struct reader *reader, const yaml_event_t *event, u32 depth, struct config_node **ret_node)
{
	struct config_place place = place_of(reader, event->start_mark);
	const yaml_char_t *anchor = NULL;
	int r;

	if (depth > CONFIG_DEPTH_MAX)
		return refuse(reader, place, "nested more than %d deep", CONFIG_DEPTH_MAX);
	switch (event->type) {
	case YAML_ALIAS_EVENT:
		return read_alias(reader, event, depth, ret_node);
	case YAML_SCALAR_EVENT:
		anchor = event->data.scalar.anchor;
		r = read_scalar(reader, event, ret_node);
		break;
	case YAML_SEQUENCE_START_EVENT:
		anchor = event->data.sequence_start.anchor;
		r = tree_new(reader->tree, NODE_LIST, place, ret_node);
		if (r == 0)
			r = read_list(reader, depth, *ret_node);
		break;
	case YAML_MAPPING_START_EVENT:
		anchor = event->data.mapping_start.anchor;
		r = tree_new(reader->tree, NODE_MAP, place, ret_node);
		if (r == 0)
			r = read_map(reader, depth, *ret_node);
		break;
	default:
		return refuse(reader, place, "not valid YAML: a value is missing");
	}
	return r < 0 ? r : remember_anchor(reader, (const char *)anchor, *ret_node);
}

/* An empty stream is null. */
static int read_stream(struct reader *reader, struct config_node **ret_node)
{
	int r;

	for (;;) {
		_cleanup_(event_done) yaml_event_t event = { 0 };

		r = next(reader, &event);
		if (r < 0)
			return r;
		if (event.type == YAML_STREAM_END_EVENT)
			break;
		if (event.type == YAML_STREAM_START_EVENT || event.type == YAML_DOCUMENT_START_EVENT)
			continue;
		r = read_value(reader, &event, 0, ret_node);
		return r;
	}
	r = tree_new(reader->tree, NODE_NULL, place_of(reader, (yaml_mark_t){ 0 }), ret_node);
	if (r == 0)
		(*ret_node)->text = "";
	return r;
}

/* As in Go, what follows the first document is not looked at; but it is hardly meant to be ignored. */
static void warn_of_more(struct reader *reader)
{
	for (;;) {
		_cleanup_(event_done) yaml_event_t event = { 0 };

		/* Past the end there is no event. */
		if (!yaml_parser_parse(&reader->parser, &event) || event.type == YAML_STREAM_END_EVENT ||
		    event.type == YAML_NO_EVENT)
			return;
		if (event.type == YAML_DOCUMENT_START_EVENT) {
			config_warning(reader->tree->errors, place_of(reader, event.start_mark), "",
				       "only the first YAML document is read, this is another");
			return;
		}
	}
}

int yaml_read(struct tree *tree, const struct yaml_source *source, struct config_node **ret_node)
{
	_cleanup_(reader_done) struct reader reader = { .tree = tree, .source = source };
	struct config_node *node;
	int r;

	if (!yaml_parser_initialize(&reader.parser))
		return -ENOMEM;
	yaml_parser_set_input_string(&reader.parser, (const unsigned char *)source->text, source->bytes);
	r = read_stream(&reader, &node);
	if (r < 0)
		return r;
	warn_of_more(&reader);
	*ret_node = node;
	return 0;
}
