// SPDX-License-Identifier: Apache-2.0
#include "web/assets.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "proc/root_file.h"

/* X(number, file) for each file below ui/: the Makefile writes this list, and says what UI_DIR is. */
#define X(number, file)									\
	__asm__(".section .rodata\n"							\
		".global asset_" #number "_start\nasset_" #number "_start:\n"		\
		".incbin \"" UI_DIR "/" file ".gz\"\n"					\
		".global asset_" #number "_end\nasset_" #number "_end:\n.byte 0\n.text\n");	\
	extern const char asset_##number##_start[], asset_##number##_end[];
#include "ui/list.h"
#undef X

static struct asset assets[] = {
#define X(number, file) { file, asset_##number##_start, 0, "" },
#include "ui/list.h"
#undef X
};

static const char *const ends[] = {
#define X(number, file) asset_##number##_end,
#include "ui/list.h"
#undef X
};

#define COUNT (sizeof(assets) / sizeof(assets[0]))

static void measure(void)
{
	for (size_t i = 0; i < COUNT; i++) {
		assets[i].bytes = (size_t)(ends[i] - (const char *)assets[i].at);
		asset_tag(assets[i].at, assets[i].bytes, assets[i].tag);
	}
}

void asset_tag(const void *at, size_t bytes, char ret_tag[ASSET_TAG_BYTES])
{
	snprintf(ret_tag, ASSET_TAG_BYTES, "\"%016llx\"", (unsigned long long)XXH3_64bits(at, bytes));
}

const char *asset_content_type(const char *file)
{
	static const char *const types[][2] = {
		{ ".html", "text/html; charset=utf-8" },
		{ ".css", "text/css; charset=utf-8" },
		{ ".js", "text/javascript; charset=utf-8" },
		{ ".svg", "image/svg+xml" },
	};
	const char *ending = strrchr(file, '.');

	for (size_t i = 0; ending && i < sizeof(types) / sizeof(types[0]); i++)
		if (!strcmp(ending, types[i][0]))
			return types[i][1];
	return NULL;
}

const struct asset *asset_at(size_t i)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	(void)pthread_once(&once, measure);
	return i < COUNT ? &assets[i] : NULL;
}

const struct asset *asset_find(const char *file)
{
	const struct asset *asset;

	for (size_t i = 0; (asset = asset_at(i)); i++)
		if (!strcmp(asset->file, file))
			return asset;
	return NULL;
}

int asset_read(int directory_fd, const char *file, struct buf *body)
{
	_cleanup_(closep) int fd = asset_content_type(file) ? root_file_open(directory_fd, file) : -ENOENT;
	char part[16384];
	ssize_t n;

	if (fd < 0)
		return fd;
	while ((n = read(fd, part, sizeof(part))) > 0)
		buf_add(body, part, (size_t)n);
	return n < 0 ? -errno : buf_err(body);
}
