/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads a configuration as the OTel Collector does.
 *
 *  - Sources: a path, or file:PATH, env:NAME, yaml:TEXT (with :: between keys).
 *    Merged from left to right: maps deeply, anything else, lists too,
 *    replaced; a later null replaces a map.
 *  - Then each --set KEY.PATH=VALUE, whose value is YAML.
 *  - In every value: ${env:X}, ${X}, ${env:X:-default}, ${file:PATH}, ${yaml:TEXT}, nested; $$ is a dollar sign.
 *
 * Hostile files are bounded: CONFIG_BYTES_MAX of YAML, CONFIG_DEPTH_MAX, at most
 * CONFIG_EXPANSIONS_MAX expansions a value; anchors and aliases count against CONFIG_NODES_MAX.
 */
#ifndef CONFIG_CONFIG_H
#define CONFIG_CONFIG_H

#include "base/arena.h"
#include "base/cleanup.h"
#include "config/errors.h"
#include "config/node.h"

#define CONFIG_BYTES_MAX (4u << 20)
#define CONFIG_NODES_MAX 200000
#define CONFIG_EXPANSIONS_MAX 1000	/* of one value */

struct buf;

/* One that was read for it, by ${file:} too. */
struct config_file {
	const struct config_file *next;
	const char *path;
};

struct config {
	struct arena arena;			/* of the tree and of what is decoded from it */
	const struct config_node *root;		/* a MAP */
	const struct config_file *files;
};

/* Where ${env:X} and ${file:X} look; tests bring their own. */
struct config_providers {
	const char *(*variable)(void *arg, const char *name);	/* NULL: not set */
	int (*read_file)(void *arg, const char *path, struct buf *ret_text);	/* -errno; at most CONFIG_BYTES_MAX */
	void *arg;
	/* Names of .yaml and .yml files of a directory, sorted, each ended by 0; -ENOTDIR: it is none. May be NULL */
	int (*list)(void *arg, const char *path, struct buf *ret_names);
};

/* Text that no file holds; line and column mean nothing there. Merged after the sources. */
struct config_text {
	const char *name, *text;
};

struct config_request {
	const char *const *sources;
	u32 source_count;
	const char *const *sets;		/* "a.b=c" */
	u32 set_count;
	const struct config_text *text;			/* or NULL */
	bool append_lists;				/* of service: confmap.enableMergeAppendOption */
	const struct config_providers *providers;	/* NULL: the environment and files of this machine */
};

/* -EINVAL with errors added; -ENOMEM. Warnings may come with success. */
int config_load(const struct config_request *request, struct config **ret_config, struct config_errors *errors);
void config_free(struct config *config);
DEFINE_CLEANUP(struct config *, config_free)

#endif
