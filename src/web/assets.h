/* SPDX-License-Identifier: Apache-2.0 */
/* The files of the page (ui/), compressed with gzip and linked into the binary. Any thread. */
#ifndef WEB_ASSETS_H
#define WEB_ASSETS_H

#include <stddef.h>

#define ASSET_TAG_BYTES 24

struct asset {
	const char *file;		/* "tabs/flame.js" */
	const void *at;			/* gzip */
	size_t bytes;
	char tag[ASSET_TAG_BYTES];
};

/* The i-th, NULL past the last. */
const struct asset *asset_at(size_t i);

/* By its name below ui/, or NULL. */
const struct asset *asset_find(const char *file);

/* Changes with the contents; in quotes, as an ETag is. */
void asset_tag(const void *at, size_t bytes, char ret_tag[ASSET_TAG_BYTES]);

/* By the file's ending; NULL: the page has no such files. */
const char *asset_content_type(const char *file);

#endif
