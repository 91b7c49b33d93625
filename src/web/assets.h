/* SPDX-License-Identifier: Apache-2.0 */
/* The files of the page (ui/), compressed with gzip and linked into the binary. */
#ifndef WEB_ASSETS_H
#define WEB_ASSETS_H

#include <stddef.h>

struct asset {
	const char *path;		/* "/app.js" */
	const char *content_type;
	const void *at;			/* gzip */
	size_t bytes;
	char tag[24];			/* changes with the contents */
};

/* The i-th, NULL past the last. */
const struct asset *asset_at(size_t i);

/* By path, or NULL. "/" is the page. */
const struct asset *asset_find(const char *path);

#endif
