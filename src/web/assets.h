/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of the page (ui/), compressed with gzip and linked into the binary;
 * or, for those who work on them, as they are in a directory. Any thread.
 */
#ifndef WEB_ASSETS_H
#define WEB_ASSETS_H

#include <stddef.h>

struct buf;

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

/*
 * From a directory instead, as it is now. Nothing but regular files below it that have a content type: neither ".." nor
 * links lead out. -ENOENT and other -errno; what body holds then does not count.
 */
int asset_read(int directory_fd, const char *file, struct buf *body);

/* By the file's ending; NULL: the page has no such files. */
const char *asset_content_type(const char *file);

#endif
