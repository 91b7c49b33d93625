// SPDX-License-Identifier: Apache-2.0
#include "config/config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "config/expand.h"
#include "config/sources.h"
#include "config/tree.h"
#include "config/yaml_read.h"

/* A node is some 100 bytes with its key; strings come on top. */
#define ARENA_BYTES_MAX ((size_t)128 << 20)

struct loading {
	struct tree tree;
	const struct config_providers *providers;
	struct config_node *root;
	bool append_lists;
};

#define refuse(l, place, ...) ({ config_error((l)->tree.errors, place, "", __VA_ARGS__); -EINVAL; })

static struct config_place named(const char *name)
{
	return (struct config_place){ .file = name };
}

static int merge_text(struct loading *l, struct yaml_source source)
{
	struct config_node *node;
	int r = yaml_read(&l->tree, &source, &node);

	if (r < 0 || node->kind == NODE_NULL)
		return r;
	if (node->kind != NODE_MAP)
		return refuse(l, node->place, "expected a map with receivers, exporters and service, found %s",
			      node_kind_name(node->kind));
	r = tree_split_keys(&l->tree, node, 0, &node);
	if (r == 0 && l->append_lists)
		r = tree_append_lists(&l->tree, l->root, node);
	return r < 0 ? r : tree_merge(&l->tree, l->root, node);
}

static int load_source(struct loading *l, const char *uri)
{
	_cleanup_(buf_done) struct buf text, path;
	struct config_source source;
	int r;

	buf_init(&text, CONFIG_BYTES_MAX);
	buf_init(&path, CONFIG_BYTES_MAX);
	buf_addf(&path, "%s%s", source_has_scheme(uri) ? "" : "file:", uri);
	if (buf_err(&path))
		return buf_err(&path);
	r = source_read(l->providers, l->tree.arena, path.data, named("--config"), l->tree.errors, &text, &source);
	if (r < 0)
		return r;
	if (source.unset)
		return refuse(l, named("--config"), "the environment variable %s is not set",
			      source.name + strlen("env:"));
	return merge_text(l, (struct yaml_source){ source.name, text.data ? text.data : "", text.len, false });
}

/* KEY.PATH=VALUE is "KEY::PATH: VALUE" in YAML. */
static int load_set(struct loading *l, const char *set)
{
	_cleanup_(buf_done) struct buf text;
	const char *equals = strchr(set, '=');

	buf_init(&text, CONFIG_BYTES_MAX);
	if (!equals || equals == set)
		return refuse(l, named("--set"), "%.200s: write KEY.PATH=VALUE", set);
	for (const char *c = set; c < equals; c++)
		buf_add(&text, *c == '.' ? "::" : c, *c == '.' ? 2 : 1);
	buf_addf(&text, ": %s", equals + 1);
	if (buf_err(&text))
		return buf_err(&text);
	return merge_text(l, (struct yaml_source){ "--set", text.data, text.len, true });
}

static int load(struct loading *l, const struct config_request *request)
{
	int r = tree_new(&l->tree, NODE_MAP, named(""), &l->root);

	for (u32 i = 0; r == 0 && i < request->source_count; i++)
		r = load_source(l, request->sources[i]);
	if (r == 0 && request->text)
		r = merge_text(l, (struct yaml_source){ request->text->name, request->text->text,
							strlen(request->text->text), true });
	for (u32 i = 0; r == 0 && i < request->set_count; i++)
		r = load_set(l, request->sets[i]);
	return r < 0 ? r : expand_tree(&l->tree, l->providers, &l->root);
}

int config_load(const struct config_request *request, struct config **ret_config, struct config_errors *errors)
{
	_cleanup_(config_freep) struct config *config = calloc(1, sizeof(*config));
	struct loading l = { .tree = { .errors = errors, .nodes_max = CONFIG_NODES_MAX } };
	int r;

	if (!config)
		return -ENOMEM;
	arena_init(&config->arena, ARENA_BYTES_MAX);
	l.tree.arena = &config->arena;
	l.append_lists = request->append_lists;
	l.providers = request->providers ? request->providers : &local_providers;
	r = load(&l, request);
	if (r < 0)
		return r == -EINVAL ? r : -ENOMEM;
	config->root = l.root;
	*ret_config = TAKE(config);
	return 0;
}

void config_free(struct config *config)
{
	if (!config)
		return;
	arena_done(&config->arena);
	free(config);
}
