// SPDX-License-Identifier: Apache-2.0
#include "cmd/service_paths.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/str.h"
#include "config/config.h"
#include "processors/k8s_api.h"

#define PATHS_MAX 4096
#define TEXTS_BYTES_MAX (1 << 20)
#define LOW_PORTS 1024
#define CACHE "/var/cache/wick"

/* Directories that are known by the type of a component, and where they are unless it is said. */
static const struct standard {
	const char *section, *type, *key, *path;
	enum path_need need;
} standards[] = {
	{ "exporters", "store", "path", "/var/lib/wick", NEED_STORE },
	{ "exporters", "perfdata", "path", "/var/lib/wick/perf", NEED_WRITE },
	{ "extensions", "file_storage", "directory", "/var/lib/otelcol/file_storage", NEED_OWN },
};

/* ---- What the configuration names ---------------------------------------------------- */

static void add(struct service_paths *paths, const char *at, enum path_need need)
{
	if (paths->err == 0 && paths->count >= PATHS_MAX)
		paths->err = -E2BIG;
	if (paths->err == 0)
		paths->err = array_reserve(&paths->at, &paths->cap, paths->count + 1, sizeof(*paths->at));
	if (paths->err == 0)
		paths->at[paths->count++] = (struct service_path){ at, need };
}

/* "store" and "store/2" are of the type store. */
static bool is_of_type(const char *id, const char *type)
{
	size_t len = strlen(type);

	return !strncmp(id, type, len) && (!id[len] || id[len] == '/');
}

static bool ends_in(const char *text, const char *end)
{
	size_t len = strlen(text), end_len = strlen(end);

	return len >= end_len && !strcmp(text + len - end_len, end);
}

/* Keys whose value is a path also where it does not look like one. */
static bool is_path_key(const char *key)
{
	static const char *const keys[] = { "path", "directory", "include", "filename", "files", "output_paths",
					    "roots" };

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (!strcmp(key, keys[i]))
			return true;
	return ends_in(key, "_file");
}

/* What a key of a component needs by its type; NULL: that is told by the key alone. */
static const struct standard *find_standard(const char *section, const char *id, const char *key)
{
	for (size_t i = 0; i < sizeof(standards) / sizeof(standards[0]); i++)
		if (!strcmp(section, standards[i].section) && !strcmp(key, standards[i].key) &&
		    is_of_type(id, standards[i].type))
			return &standards[i];
	return NULL;
}

static void note_port(struct service_paths *paths, const char *key, const char *text)
{
	const char *colon = strrchr(text, ':');
	unsigned long port;

	if (!ends_in(key, "endpoint") && strcmp(key, "port"))
		return;
	port = strtoul(colon ? colon + 1 : text, NULL, 10);
	paths->binds_low |= port > 0 && port < LOW_PORTS;
	if (port > 0 && port <= UINT16_MAX && paths->port_count < SERVICE_PORTS_MAX)
		paths->ports[paths->port_count++] = (u32)port;
}

/* Directories that the page may show sources from, of which one text may name several. */
static void add_sources(struct service_paths *paths, const char *text)
{
	struct str rest = str_of(text), one;

	while (str_cut(&rest, ',', &one)) {
		const char *copy;

		one = str_trim(one);
		copy = arena_strndup(&paths->texts, one.at, one.len);
		if (!copy)
			paths->err = arena_err(&paths->texts);
		else if (*copy)
			add(paths, copy, NEED_LOOK);
	}
}

static bool is_of_page(const char *section, const char *id)
{
	return !strcmp(section, "extensions") && is_of_type(id, "page");
}

static void look_at(struct service_paths *paths, const char *section, const char *id, const char *key, const char *text)
{
	/* An endpoint that is a path is a socket's, which is made there. */
	bool writes = !strcmp(section, "exporters") || ends_in(key, "directory") || !strcmp(key, "output_paths") ||
		      ends_in(key, "endpoint");
	const struct standard *standard = find_standard(section, id, key);

	if (strcmp(section, "exporters"))
		note_port(paths, key, text);
	if (!strncmp(text, "unix:", 5))
		add(paths, text + (strncmp(text, "unix://", 7) ? 5 : 7), NEED_WRITE);
	else if (is_of_page(section, id) && !strcmp(key, "source"))
		add_sources(paths, text);
	else if (standard)
		add(paths, text, standard->need);
	else if (*text == '/' || (is_path_key(key) && *text && !strstr(text, "://")))
		add(paths, text, writes && !ends_in(key, "_file") ? NEED_WRITE : NEED_READ);
}

static void walk(struct service_paths *paths, const char *section, const char *id, const char *key,
		 const struct config_node *node)
{
	/* Of directories that `source` names. */
	if (is_of_page(section, id) && !strcmp(key, "source_map"))
		return;
	for (u32 i = 0; node->kind == NODE_LIST && i < node->count; i++)
		walk(paths, section, id, key, node->list[i]);
	for (u32 i = 0; node->kind == NODE_MAP && i < node->count; i++)
		walk(paths, section, *id ? id : node->map[i].key, node->map[i].key, node->map[i].value);
	if (node->kind != NODE_LIST && node->kind != NODE_MAP && node->text)
		look_at(paths, section, id, key, node->text);
}

/* Components of these types that leave it at the standard. */
static void add_standards(struct service_paths *paths, const struct config *config)
{
	for (size_t i = 0; i < sizeof(standards) / sizeof(standards[0]); i++) {
		const struct config_node *section = config_get(config->root, standards[i].section);

		for (u32 k = 0; section && section->kind == NODE_MAP && k < section->count; k++)
			if (is_of_type(section->map[k].key, standards[i].type) &&
			    !config_get(section->map[k].value, standards[i].key))
				add(paths, standards[i].path, standards[i].need);
	}
}

/* The token of a pod's service account may be root's alone. */
static void look_at_processor(struct service_paths *paths, const char *id)
{
	if ((!strncmp(id, "k8sattributes", 13) || !strncmp(id, "k8s_attributes", 14)) &&
	    access(K8S_TOKEN_FILE, F_OK) == 0)
		add(paths, K8S_TOKEN_FILE, NEED_READ);
	paths->looks_for_files |= is_of_type(id, "symbolize");
}

/* Files that are deleted when they have been read. */
static void look_at_receiver(struct service_paths *paths, const struct config_node *options)
{
	const struct config_node *deletes = config_get(options, "delete_after_read");
	const struct config_node *include = config_get(options, "include");

	if (!deletes || !deletes->text || strcmp(deletes->text, "true") || !include)
		return;
	for (u32 i = 0; include->kind == NODE_LIST && i < include->count; i++)
		if (include->list[i]->text)
			add(paths, include->list[i]->text, NEED_WRITE);
	if (include->kind != NODE_LIST && include->text)
		add(paths, include->text, NEED_WRITE);
}

static void look_at_components(struct service_paths *paths, const struct config *config)
{
	const struct config_node *node = config_get(config->root, "processors");

	for (u32 i = 0; node && node->kind == NODE_MAP && i < node->count; i++)
		look_at_processor(paths, node->map[i].key);
	node = config_get(config->root, "receivers");
	for (u32 i = 0; node && node->kind == NODE_MAP && i < node->count; i++)
		look_at_receiver(paths, node->map[i].value);
	node = config_get(config->root, "exporters");
	for (u32 i = 0; node && node->kind == NODE_MAP && i < node->count; i++)
		paths->looks_for_files |= is_of_type(node->map[i].key, "store") ||
					  is_of_type(node->map[i].key, "perfdata");
}

/* What is fetched for names is kept beside what the sampler keeps. */
static bool fetches_names(const struct config_node *node)
{
	bool does = node->kind == NODE_MAP && config_get(node, "debuginfod");

	for (u32 i = 0; !does && node->kind == NODE_MAP && i < node->count; i++)
		does = fetches_names(node->map[i].value);
	return does;
}

int service_paths_find(const struct config *config, struct service_paths *paths)
{
	static const char *const sections[] = { "receivers", "processors", "exporters", "connectors", "extensions" };
	const char *urls = getenv("DEBUGINFOD_URLS");
	const struct config_node *node;

	arena_init(&paths->texts, TEXTS_BYTES_MAX);
	for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++) {
		node = config_get(config->root, sections[i]);
		if (node)
			walk(paths, sections[i], "", "", node);
	}
	node = config_get(config_get(config->root, "service"), "telemetry");
	if (node)
		walk(paths, "service", "telemetry", "", node);
	add_standards(paths, config);
	look_at_components(paths, config);
	/* To be loaded again. */
	for (const struct config_file *file = config->files; file; file = file->next)
		add(paths, file->path, NEED_READ);
	paths->fetches_names = (urls && *urls) || fetches_names(config->root);
	if (urls)
		add(paths, CACHE, NEED_CACHE);
	return paths->err;
}

void service_paths_done(struct service_paths *paths)
{
	free(paths->at);
	arena_done(&paths->texts);
	*paths = (struct service_paths){ 0 };
}
