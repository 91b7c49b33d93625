/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files and directories that a configuration names, and what its service does with each. Told by the look of keys and
 * values rather than asked of components: what is taken for a path and is none, such as that of a URL, is not there.
 * Texts are the configuration's, and live as long.
 */
#ifndef CMD_SERVICE_PATHS_H
#define CMD_SERVICE_PATHS_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/types.h"

struct config;

enum path_need {
	NEED_READ,
	NEED_LOOK,	/* … as far as its user may: that stays who it is */
	NEED_WRITE,
	NEED_CACHE,	/* what names are fetched for; the sampler's is beside it */
	NEED_OWN,	/* a directory for the service alone */
	NEED_STORE,	/* … which it makes */
};

struct service_path {
	const char *at;
	enum path_need need;
};

#define SERVICE_PORTS_MAX 32

struct service_paths {
	struct service_path *at;
	u32 count, cap;
	struct arena texts;	/* that stand between commas */
	u32 ports[SERVICE_PORTS_MAX], port_count;	/* to listen on, where they are said */
	bool binds_low;		/* a port below 1024 */
	bool looks_for_files;	/* that profiles name, wherever they are */
	bool fetches_names;	/* from debuginfod */
	int err;
};

/* *paths is empty. -ENOMEM, -E2BIG. */
int service_paths_find(const struct config *config, struct service_paths *paths);
void service_paths_done(struct service_paths *paths);

#endif
