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

#define DIRECTORY_NAMES_MAX 65536	/* bytes of the names of its files */

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

static int read_source(struct loading *l, const char *uri)
{
	_cleanup_(buf_done) struct buf text;
	struct config_source source;
	int r;

	buf_init(&text, CONFIG_BYTES_MAX);
	r = source_read(l->providers, l->tree.arena, uri, named("--config"), l->tree.errors, &text, &source);
	if (r < 0)
		return r;
	if (source.unset)
		return refuse(l, named("--config"), "the environment variable %s is not set",
			      source.name + strlen("env:"));
	return merge_text(l, (struct yaml_source){ source.name, text.data ? text.data : "", text.len, false });
}

/* Its files, in the order of their names. */
static int read_directory(struct loading *l, const char *path, const struct buf *names)
{
	int r = 0;

	if (!names->len)
		return refuse(l, named("--config"), "there is no .yaml file in the directory %s", path);
	for (size_t at = 0; r == 0 && at < names->len; at += strlen(names->data + at) + 1) {
		_cleanup_(buf_done) struct buf uri;

		buf_init(&uri, CONFIG_BYTES_MAX);
		buf_addf(&uri, "file:%s/%s", path, names->data + at);
		r = buf_err(&uri);
		if (r == 0)
			r = read_source(l, uri.data);
	}
	return r;
}

static int load_source(struct loading *l, const char *source)
{
	_cleanup_(buf_done) struct buf names, uri;
	bool is_file = !source_has_scheme(source) || !strncmp(source, "file:", 5);
	const char *path = source + (is_file && source_has_scheme(source) ? 5 : 0);
	int r = -ENOTDIR;

	buf_init(&names, DIRECTORY_NAMES_MAX);
	buf_init(&uri, CONFIG_BYTES_MAX);
	if (is_file && l->providers->list)
		r = l->providers->list(l->providers->arg, path, &names);
	if (r == -E2BIG)
		return refuse(l, named("--config"), "there are too many files in the directory %s", path);
	if (r != -ENOTDIR)
		return r < 0 ? r : read_directory(l, path, &names);
	buf_addf(&uri, "%s%s", is_file ? "file:" : "", path);
	return buf_err(&uri) ? buf_err(&uri) : read_source(l, uri.data);
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

/* ---- Which files it was read from ------------------------------------------------------ */

struct noting {
	const struct config_providers *of;
	struct config *config;
};

static const char *find_variable(void *arg, const char *name)
{
	const struct noting *n = arg;

	return n->of->variable(n->of->arg, name);
}

static int note(const struct noting *n, const char *path)
{
	struct config_file *file = arena_alloc(&n->config->arena, sizeof(*file));
	const char *copy = arena_strndup(&n->config->arena, path, strlen(path));

	if (!file || !copy)
		return -ENOMEM;
	*file = (struct config_file){ n->config->files, copy };
	n->config->files = file;
	return 0;
}

static int read_and_note(void *arg, const char *path, struct buf *ret_text)
{
	const struct noting *n = arg;
	int r = note(n, path);

	return r < 0 ? r : n->of->read_file(n->of->arg, path, ret_text);
}

/* The directory, too: one that reads it again may find other files in it. */
static int list_and_note(void *arg, const char *path, struct buf *ret_names)
{
	const struct noting *n = arg;
	int r = n->of->list ? n->of->list(n->of->arg, path, ret_names) : -ENOTDIR, noted = r < 0 ? 0 : note(n, path);

	return noted < 0 ? noted : r;
}

int config_load(const struct config_request *request, struct config **ret_config, struct config_errors *errors)
{
	_cleanup_(config_freep) struct config *config = calloc(1, sizeof(*config));
	struct loading l = { .tree = { .errors = errors, .nodes_max = CONFIG_NODES_MAX } };
	struct noting noting = { request->providers ? request->providers : &local_providers, config };
	const struct config_providers providers = { find_variable, read_and_note, &noting, list_and_note };
	int r;

	if (!config)
		return -ENOMEM;
	arena_init(&config->arena, ARENA_BYTES_MAX);
	l.tree.arena = &config->arena;
	l.append_lists = request->append_lists;
	l.providers = &providers;
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
