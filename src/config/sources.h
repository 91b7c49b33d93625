/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where configuration text comes from: env:NAME, env:NAME:-default, file:PATH, yaml:TEXT.
 * A path may be a directory: its files one after the other (config.c).
 * http: and https: are refused: the agent does not fetch what it runs with.
 */
#ifndef CONFIG_SOURCES_H
#define CONFIG_SOURCES_H

#include "config/config.h"

struct config_source {
	const char *name;	/* what places in it are called by; in the arena */
	bool unset;		/* a variable that is not there, and no default */
};

/*
 * The text of "scheme:rest"; without a scheme it is a variable. -EINVAL, with an
 * error at the place, -ENOMEM.
 */
int source_read(const struct config_providers *providers, struct arena *arena, const char *uri,
		struct config_place place, struct config_errors *errors, struct buf *text,
		struct config_source *ret_source);

/* Whether it starts with a scheme, as file: does; "C:\x" and "x.yaml" do not. */
bool source_has_scheme(const char *uri);

extern const struct config_providers local_providers;

#endif
