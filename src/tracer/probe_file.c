// SPDX-License-Identifier: Apache-2.0
#include "tracer/probe_file.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "exe/probe_points.h"
#include "exe/reader.h"

static const char *const folders[] = {
#if defined(__aarch64__)
	"/usr/lib/aarch64-linux-gnu", "/lib/aarch64-linux-gnu",
#else
	"/usr/lib/x86_64-linux-gnu", "/lib/x86_64-linux-gnu",
#endif
	"/usr/lib64", "/lib64", "/usr/lib", "/lib", "/usr/bin", "/bin", "/usr/sbin", "/sbin", "/usr/local/bin",
	"/usr/local/lib",
};

void probe_file_done(struct probe_file *file)
{
	closep(&file->fd);
	free(file->points);
	*file = PROBE_FILE_EMPTY;
}

/* NAME, NAME.so or NAME.so.6 in one of the folders. */
static bool find_by_name(const char *name, char path[PATH_MAX])
{
	static const char *const ends[] = { "", ".so", ".so.[0-9]*" };
	bool found = false;

	if (strpbrk(name, "*?[\\"))
		return false;
	for (u32 i = 0; i < sizeof(folders) / sizeof(*folders) && !found; i++)
		for (u32 k = 0; k < sizeof(ends) / sizeof(*ends) && !found; k++) {
			glob_t matches;

			snprintf(path, PATH_MAX, "%s/%s%s", folders[i], name, ends[k]);
			if (glob(path, 0, NULL, &matches) == 0) {
				found = strlen(matches.gl_pathv[0]) < PATH_MAX;
				snprintf(path, PATH_MAX, "%s", matches.gl_pathv[0]);
			}
			globfree(&matches);
		}
	return found;
}

static int open_file(const char *name, int *ret_fd, struct buf *why)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s", name);
	if (!strchr(name, '/') && !find_by_name(name, path)) {
		buf_addf(why, "%s is in none of the folders of programs and libraries: give its path", name);
		return -ENOENT;
	}
	/* What is no regular file is not waited for. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0) {
		int r = -errno;

		buf_addf(why, "a probe is to be set in %s: %s", path, strerror(-r));
		return r;
	}
	*ret_fd = fd;
	return 0;
}

static void tell_missing(const struct probe_point *point, const struct probe_points *points, struct buf *why)
{
	bool is_usdt = point->type == PROBE_USDT;

	if (!points->has_names) {
		buf_addf(why, "%s has no %s", point->target, is_usdt ? "USDT markers" :
			 "names of functions: give the address instead, as uprobe:FILE:0x1234");
		return;
	}
	buf_addf(why, "%s has no %s %s%s%s%s", point->target, is_usdt ? "USDT marker" : "function", point->provider,
		 *point->provider ? ":" : "", point->symbol, point->offset ? " of that length" : "");
	if (*points->nearest)
		buf_addf(why, "; did you mean %s?", points->nearest);
}

static int find_points(const struct probe_point *point, struct reader *reader, struct probe_file *file,
		       struct buf *why)
{
	struct probe_wanted wanted = { .is_usdt = point->type == PROBE_USDT, .offset = point->offset };
	int r;

	snprintf(wanted.name, sizeof(wanted.name), "%s", point->symbol);
	snprintf(wanted.provider, sizeof(wanted.provider), "%s", point->provider);
	r = reader_probe_points(reader, file->fd, &wanted, &file->points);
	if (r < 0) {
		buf_addf(why, "%s cannot be read as a program or library of 64 bits: %s", point->target, strerror(-r));
		return r;
	}
	if (file->points->count)
		return 0;
	tell_missing(point, file->points, why);
	return -ENOENT;
}

int probe_file_open(const struct probe_point *point, struct reader *reader, struct probe_file *ret_file,
		    struct buf *why)
{
	struct probe_file file = PROBE_FILE_EMPTY;
	int r = open_file(point->target, &file.fd, why);

	if (r == 0)
		r = find_points(point, reader, &file, why);
	if (r < 0) {
		probe_file_done(&file);
		return r;
	}
	*ret_file = file;
	return 0;
}
