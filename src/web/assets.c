// SPDX-License-Identifier: Apache-2.0
#include "web/assets.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#define SCRIPT(X, name) X(name, "/" #name ".js", #name ".js", "text/javascript; charset=utf-8")

/* X(symbol, path, file, content type); UI_DIR comes from the Makefile. */
#define ASSETS(X)									\
	X(page, "/", "index.html", "text/html; charset=utf-8")				\
	X(style, "/style.css", "style.css", "text/css; charset=utf-8")			\
	SCRIPT(X, app) SCRIPT(X, chart) SCRIPT(X, colours) SCRIPT(X, executables)	\
	SCRIPT(X, flame) SCRIPT(X, flameview) SCRIPT(X, live) SCRIPT(X, logs)		\
	SCRIPT(X, match) SCRIPT(X, menu) SCRIPT(X, metrics) SCRIPT(X, state)		\
	SCRIPT(X, table) SCRIPT(X, traces) SCRIPT(X, tree) SCRIPT(X, views)		\
	X(icon, "/icon.svg", "icon.svg", "image/svg+xml")

#define X(symbol, path, file, type)							\
	__asm__(".section .rodata\n"							\
		".global asset_" #symbol "_start\nasset_" #symbol "_start:\n"		\
		".incbin \"" UI_DIR "/" file ".gz\"\n"					\
		".global asset_" #symbol "_end\nasset_" #symbol "_end:\n.byte 0\n.text\n");	\
	extern const char asset_##symbol##_start[], asset_##symbol##_end[];
ASSETS(X)
#undef X

static struct asset assets[] = {
#define X(symbol, path, file, type) { path, type, asset_##symbol##_start, 0, "" },
	ASSETS(X)
#undef X
};

static const char *const ends[] = {
#define X(symbol, path, file, type) asset_##symbol##_end,
	ASSETS(X)
#undef X
};

#define COUNT (sizeof(assets) / sizeof(assets[0]))

static void measure(void)
{
	for (size_t i = 0; i < COUNT; i++) {
		assets[i].bytes = (size_t)(ends[i] - (const char *)assets[i].at);
		snprintf(assets[i].tag, sizeof(assets[i].tag), "\"%016llx\"",
			 (unsigned long long)XXH3_64bits(assets[i].at, assets[i].bytes));
	}
}

const struct asset *asset_at(size_t i)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	(void)pthread_once(&once, measure);
	return i < COUNT ? &assets[i] : NULL;
}

const struct asset *asset_find(const char *path)
{
	const struct asset *asset;

	for (size_t i = 0; (asset = asset_at(i)); i++)
		if (!strcmp(asset->path, path))
			return asset;
	return NULL;
}
