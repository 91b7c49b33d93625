// SPDX-License-Identifier: Apache-2.0
#include "exporters/rotation.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"

#define NS_A_MS 1000000ull
#define NS_A_DAY (86400ull * 1000000000ull)
#define RENAME_TRIES 1000

/* Of files beside it that are looked at; those past it stay. */
#define BACKUPS_MAX 65536

/* "2022-09-14T05-02-14.173" */
#define STAMP_LEN 23

/* Where the parts of a path begin: directory/stem.ext */
struct parts {
	const char *base, *ext;
	size_t directory_len, stem_len;		/* directory with its slash */
};

static struct parts split(const char *path)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path, *dot = strrchr(base, '.');
	const char *ext = dot ? dot : base + strlen(base);

	return (struct parts){ base, ext, (size_t)(base - path), (size_t)(ext - base) };
}

static int stamped_name(const char *path, u64 unix_ns, bool local_time, char ret_name[PATH_MAX])
{
	struct parts p = split(path);
	time_t seconds = (time_t)(unix_ns / 1000000000);
	char stamp[STAMP_LEN + 1];
	struct tm tm;
	int len;

	if (local_time)
		localtime_r(&seconds, &tm);
	else
		gmtime_r(&seconds, &tm);
	if (strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H-%M-%S", &tm) != STAMP_LEN - 4)
		return -ERANGE;
	len = snprintf(ret_name, PATH_MAX, "%.*s-%s.%03u%s", (int)(p.directory_len + p.stem_len), path, stamp,
		       (unsigned)(unix_ns / NS_A_MS % 1000), p.ext);
	return len < PATH_MAX ? 0 : -ENAMETOOLONG;
}

int rotation_move(int directory_fd, const char *from, const char *to)
{
	if (renameat2(directory_fd, from, directory_fd, to, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL)
		return -errno;
	/* Some file systems cannot promise not to replace: then look first. */
	if (faccessat(directory_fd, to, F_OK, 0) == 0)
		return -EEXIST;
	return renameat(directory_fd, from, directory_fd, to) < 0 ? -errno : 0;
}

int rotation_rename(const char *path, u64 unix_ns, bool local_time)
{
	char name[PATH_MAX];

	for (int i = 0; i < RENAME_TRIES; i++) {
		int r = stamped_name(path, unix_ns + (u64)i * NS_A_MS, local_time, name);

		if (r < 0)
			return r;
		r = rotation_move(AT_FDCWD, path, name);
		if (r != -EEXIST)
			return r;
	}
	return -EEXIST;
}

/* ---- What is too old, or too much -------------------------------------------- */

struct backups {
	char **at;
	u32 count, cap;
};

static void backups_done(struct backups *backups)
{
	for (u32 i = 0; i < backups->count; i++)
		free(backups->at[i]);
	free(backups->at);
}

static bool is_stamp(const char *text)
{
	static const char form[STAMP_LEN + 1] = "dddd-dd-ddTdd-dd-dd.ddd";

	for (int i = 0; i < STAMP_LEN; i++) {
		bool is_digit = text[i] >= '0' && text[i] <= '9';

		if (form[i] == 'd' ? !is_digit : text[i] != form[i])
			return false;
	}
	return true;
}

static bool is_backup(const struct parts *parts, const char *name)
{
	size_t len = strlen(name), ext_len = strlen(parts->ext);

	return len == parts->stem_len + 1 + STAMP_LEN + ext_len && !memcmp(name, parts->base, parts->stem_len) &&
	       name[parts->stem_len] == '-' && is_stamp(name + parts->stem_len + 1) &&
	       !strcmp(name + len - ext_len, parts->ext);
}

static int newest_first(const void *a, const void *b)
{
	return strcmp(*(char *const *)b, *(char *const *)a);
}

static int find_backups(DIR *directory, const struct parts *parts, struct backups *backups)
{
	const struct dirent *entry;

	while ((entry = readdir(directory)) && backups->count < BACKUPS_MAX) {
		if (!is_backup(parts, entry->d_name))
			continue;
		if (array_reserve(&backups->at, &backups->cap, backups->count + 1, sizeof(*backups->at)) < 0)
			return -ENOMEM;
		backups->at[backups->count] = strdup(entry->d_name);
		if (!backups->at[backups->count])
			return -ENOMEM;
		backups->count++;
	}
	qsort(backups->at, backups->count, sizeof(*backups->at), newest_first);
	return 0;
}

int rotation_prune(const char *path, u32 max_backups, u32 max_days, u64 unix_ns, bool local_time)
{
	_cleanup_(backups_done) struct backups backups = { 0 };
	struct parts parts = split(path);
	u64 age = max_days * NS_A_DAY;
	char oldest[PATH_MAX] = "", folder[PATH_MAX];
	DIR *directory;
	int r = 0;

	if (max_days)
		r = stamped_name(path, unix_ns > age ? unix_ns - age : 0, local_time, oldest);
	if (r < 0 || parts.directory_len >= sizeof(folder))
		return r < 0 ? r : -ENAMETOOLONG;
	(void)snprintf(folder, sizeof(folder), "%.*s", (int)parts.directory_len, path);
	directory = opendir(parts.directory_len ? folder : ".");
	if (!directory)
		return -errno;
	r = find_backups(directory, &parts, &backups);
	for (u32 i = 0; i < backups.count; i++) {
		bool is_old = max_days && strcmp(backups.at[i], oldest + parts.directory_len) < 0;

		if ((is_old || (max_backups && i >= max_backups)) && unlinkat(dirfd(directory), backups.at[i], 0) < 0)
			r = -errno;
	}
	closedir(directory);
	return r;
}
