// SPDX-License-Identifier: Apache-2.0
#include "config/expand.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "config/sources.h"
#include "config/yaml_read.h"

#define EXPANSION_WORK 64	/* what an expansion costs besides its bytes */

struct expander {
	struct tree *tree;
	const struct config_providers *providers;
	u64 work_left;
};

/* A ${...} in a text. */
struct found {
	size_t start, end;	/* of "$" and past "}" */
};

#define refuse(e, place, ...) ({ config_error((e)->tree->errors, place, "", __VA_ARGS__); -EINVAL; })

static void buf_text_init(struct buf *b)
{
	buf_init(b, CONFIG_BYTES_MAX);
}

/* The last "${" before a "}" is the innermost. An odd number of $ before it makes it plain text. */
static bool find_innermost(const char *text, struct found *ret_found)
{
	const char *from = text, *close;

	for (; (close = strchr(from, '}')); from = close + 1) {
		const char *open = close, *dollar;

		while (open > from && !(open[0] == '$' && open[1] == '{'))
			open--;
		if (open[0] != '$' || open[1] != '{')
			continue;
		for (dollar = open; dollar > text && dollar[-1] == '$'; dollar--)
			;
		if ((open - dollar) % 2)
			continue;
		*ret_found = (struct found){ open - text, close + 1 - text };
		return true;
	}
	return false;
}

static int spend(struct expander *e, struct config_place place, size_t bytes)
{
	if (bytes + EXPANSION_WORK > e->work_left)
		return refuse(e, place, "too much to expand: do the values of ${...} name each other?");
	e->work_left -= bytes + EXPANSION_WORK;
	return 0;
}

/* What ${uri} stands for, appended to `value` and followed by a NUL. */
static int retrieve(struct expander *e, const char *text, struct found at, struct config_place place,
		    struct buf *value, struct config_source *ret_source)
{
	_cleanup_(freep) char *uri = strndup(text + at.start + 2, at.end - at.start - 3);
	int r;

	if (!uri)
		return -ENOMEM;
	if (strchr(uri, '$'))
		return refuse(e, place, "${%.100s}: a $ is not possible here", uri);
	r = source_read(e->providers, e->tree->arena, uri, place, e->tree->errors, value, ret_source);
	if (r < 0)
		return r;
	if (ret_source->unset)
		config_warning(e->tree->errors, place, "", "the environment variable %s is not set; it counts as empty",
			       ret_source->name + strlen("env:"));
	if (memchr(value->data ? value->data : "", '\0', value->len))
		return refuse(e, place, "${%.100s} has a NUL character in it", uri);
	buf_addf(value, "%s", "");
	return buf_err(value);
}

static int replace(const struct buf *text, struct found at, const struct buf *value, struct buf *ret_text)
{
	buf_add(ret_text, text->data, at.start);
	buf_add(ret_text, value->data, value->len);
	buf_addf(ret_text, "%s", text->data + at.end);
	return buf_err(ret_text);
}

static int finish_string(struct expander *e, struct config_node *node, const char *text)
{
	char *copy = arena_strndup(e->tree->arena, text, strlen(text)), *to = copy;

	if (!copy)
		return -ENOMEM;
	for (const char *from = copy; *from; from++) {
		if (from[0] == '$' && from[1] == '$')
			from++;
		*to++ = *from;
	}
	*to = '\0';
	node->text = copy;
	return 0;
}

static int expand_node(struct expander *e, struct config_node **node, u32 depth);

/* What a text is in YAML; what is no YAML is a string. */
static int read_typed(struct expander *e, const char *name, const struct buf *value, struct config_node **ret_node)
{
	struct config_errors unseen;
	struct tree tree = *e->tree;
	int r;

	config_errors_init(&unseen);
	tree.errors = &unseen;
	r = yaml_read(&tree, &(struct yaml_source){ name, value->data, value->len, false }, ret_node);
	e->tree->node_count = tree.node_count;
	config_errors_done(&unseen);
	return r;
}

/* Takes the place of a node by what its whole text stands for, unless that is a string. 1: it was replaced. */
static int replace_typed(struct expander *e, const char *name, const struct buf *value, u32 depth,
			 struct config_node **node)
{
	struct config_node *typed = NULL;
	int r = read_typed(e, name, value, &typed);

	if (r == -ENOMEM)
		return r;
	if (r < 0 || typed->kind == NODE_STRING)
		return 0;
	if (typed->kind == NODE_LIST || typed->kind == NODE_MAP) {
		r = expand_node(e, &typed, depth);
		if (r < 0)
			return r;
	} else {
		typed->place = (*node)->place;
	}
	typed->expanded = true;
	if (!strstr(value->data, "${")) {
		r = finish_string(e, typed, value->data);
		if (r < 0)
			return r;
	}
	*node = typed;
	return 1;
}

/* One ${...} of the text. 1: the node was replaced, there is no text any more. */
static int expand_once(struct expander *e, struct buf *text, struct found at, u32 depth, struct config_node **node)
{
	_cleanup_(buf_done) struct buf value, replaced;
	struct config_place place = (*node)->place;
	struct config_source source;
	int r;

	buf_text_init(&value);
	buf_text_init(&replaced);
	r = spend(e, place, text->len);
	if (r == 0)
		r = retrieve(e, text->data, at, place, &value, &source);
	if (r < 0)
		return r;
	if (at.start == 0 && at.end == text->len) {
		r = replace_typed(e, source.name, &value, depth, node);
		if (r == 0)
			(*node)->expanded = true;
	}
	if (r != 0)
		return r;
	r = replace(text, at, &value, &replaced);
	if (r == -E2BIG)
		return refuse(e, place, "longer than %u MiB once it is expanded", CONFIG_BYTES_MAX >> 20);
	if (r == 0) {
		struct buf old = *text;

		*text = replaced;
		replaced = old;
	}
	return r;
}

static int expand_string(struct expander *e, struct config_node **node, u32 depth)
{
	_cleanup_(buf_done) struct buf text;
	struct found at;
	int r = 0;

	buf_text_init(&text);
	buf_addf(&text, "%s", (*node)->text);
	if (buf_err(&text))
		return buf_err(&text) == -ENOMEM ? -ENOMEM : refuse(e, (*node)->place, "a string that is too long");
	for (u32 i = 0; find_innermost(text.data, &at); i++) {
		if (i == CONFIG_EXPANSIONS_MAX)
			return refuse(e, (*node)->place, "more than %d expansions: does a value name itself?",
				      CONFIG_EXPANSIONS_MAX);
		r = expand_once(e, &text, at, depth, node);
		if (r != 0)
			return r < 0 ? r : 0;
	}
	return finish_string(e, *node, text.data);
}

static int expand_node(struct expander *e, struct config_node **node, u32 depth)
{
	struct config_node *n = *node;
	int r = 0;

	if (depth > CONFIG_DEPTH_MAX)
		return refuse(e, n->place, "nested more than %d deep once it is expanded", CONFIG_DEPTH_MAX);
	if (n->kind == NODE_STRING)
		return strchr(n->text, '$') ? expand_string(e, node, depth) : 0;
	for (u32 i = 0; r == 0 && n->kind == NODE_LIST && i < n->count; i++)
		r = expand_node(e, &n->list[i], depth + 1);
	for (u32 i = 0; r == 0 && n->kind == NODE_MAP && i < n->count; i++)
		r = expand_node(e, &n->map[i].value, depth + 1);
	return r;
}

int expand_tree(struct tree *tree, const struct config_providers *providers, struct config_node **node)
{
	struct expander e = { tree, providers, EXPAND_WORK_MAX };

	return expand_node(&e, node, 0);
}
