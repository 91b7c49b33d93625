// SPDX-License-Identifier: Apache-2.0
/*
 * The chain is in a library opened at run time. With -DREPLACE a copy of it,
 * over which another library with other names at the same addresses is put
 * once it is mapped: the names must come from what is mapped.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "victim.h"

static uint64_t (*library_outer)(uint64_t n);

static void die(const char *what)
{
	fprintf(stderr, "dlopen victim: %s\n", what);
	exit(1);
}

#ifdef REPLACE
static char path[4096];

static void remove_copy(void)
{
	unlink(path);
}

static void copy(const char *from, const char *to)
{
	int in = open(from, O_RDONLY | O_CLOEXEC), out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);

	if (in < 0 || out < 0)
		die(from);
	while (sendfile(out, in, NULL, 1 << 20) > 0)
		;
	close(in);
	close(out);
}
#endif

static void *open_library(const char *folder)
{
	void *library;
#ifdef REPLACE
	char from[4096], aside[4096 + 8];

	snprintf(path, sizeof(path), "%s/libv-replaced-%d.so", folder, getpid());
	snprintf(aside, sizeof(aside), "%s.new", path);
	snprintf(from, sizeof(from), "%s/libv-dl.so", folder);
	copy(from, path);
	library = dlopen(path, RTLD_NOW);
	snprintf(from, sizeof(from), "%s/libv-wrong.so", folder);
	copy(from, aside);
	if (rename(aside, path) < 0)
		die("rename");
	atexit(remove_copy);
#else
	char path[4096];

	snprintf(path, sizeof(path), "%s/libv-dl.so", folder);
	library = dlopen(path, RTLD_NOW);
#endif
	return library;
}

void victim_setup(int argc, char **argv)
{
	char *self = strdup(argv[0]);
	void *library = open_library(dirname(self));

	(void)argc;
	if (!library)
		die(dlerror());
	library_outer = (uint64_t(*)(uint64_t))dlsym(library, "dl_outer");
	if (!library_outer)
		die("no dl_outer");
	free(self);
}

NOINLINE uint64_t outer(uint64_t n)
{
	uint64_t r = library_outer(n);

	NO_TAIL();
	return r;
}
