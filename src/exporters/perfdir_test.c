// SPDX-License-Identifier: Apache-2.0
#include "exporters/perfdir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "test.h"

#define SECOND 1000000000ull
#define HOUR (3600 * SECOND)
#define TIME (1663131734ull * SECOND)	/* 2022-09-14 05:02:14 */

static char folder[64];
static struct perfdir_options options;

static void make_folder(void)
{
	snprintf(folder, sizeof(folder), "/tmp/wick-perfdir-XXXXXX");
	OK(mkdtemp(folder));
}

static void remove_folder(void)
{
	DIR *directory = opendir(folder);
	const struct dirent *entry;

	while (directory && (entry = readdir(directory)))
		(void)unlinkat(dirfd(directory), entry->d_name, 0);
	if (directory)
		closedir(directory);
	(void)rmdir(folder);
}

static struct perfdir *open_folder(void)
{
	struct perfdir *dir = NULL;
	struct buf why;

	buf_init(&why, 1024);
	EQ(perfdir_open(folder, &options, &dir, &why), 0);
	buf_done(&why);
	return dir;
}

/* The name that a file of that many bytes got. */
static const char *put(struct perfdir *dir, u64 unix_ns, size_t bytes)
{
	static char name[PERFDIR_NAME_MAX];
	char *zeros = calloc(1, bytes + 1);
	int fd;

	EQ(perfdir_begin(dir, &fd), 0);
	EQ(write(fd, zeros, bytes), bytes);
	EQ(perfdir_commit(dir, unix_ns, name), 0);
	free(zeros);
	return name;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* All names, in order, hidden ones too. */
static const char *list(void)
{
	static char text[4096];
	char *names[64];
	struct dirent *entry;
	DIR *directory = opendir(folder);
	size_t count = 0, len = 0;

	OK(directory);
	while ((entry = readdir(directory)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			OK(count < 64 && (names[count++] = strdup(entry->d_name)));
	closedir(directory);
	qsort(names, count, sizeof(names[0]), compare);
	text[0] = '\0';
	for (size_t i = 0; i < count; i++) {
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s", i ? " " : "", names[i]);
		free(names[i]);
	}
	return text;
}

static void touch(const char *name)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	OK(fd >= 0);
	close(fd);
}

TEST(perfdir_names_files_by_time_and_replaces_none)
{
	_cleanup_(perfdir_freep) struct perfdir *dir = NULL;

	make_folder();
	dir = open_folder();
	STREQ(put(dir, TIME, 10), "perf-20220914-050214.data");
	STREQ(put(dir, TIME + SECOND, 10), "perf-20220914-050215.data");
	/* The clock went back. */
	STREQ(put(dir, TIME, 20), "perf-20220914-050214-1.data");
	STREQ(put(dir, TIME + SECOND / 2, 20), "perf-20220914-050214-2.data");
	STREQ(list(), "perf-20220914-050214-1.data perf-20220914-050214-2.data perf-20220914-050214.data "
		      "perf-20220914-050215.data");
	remove_folder();
}

TEST(perfdir_shows_whole_files_only)
{
	_cleanup_(perfdir_freep) struct perfdir *dir = NULL;
	int fd;

	make_folder();
	touch(".perf.data.unfinished");		/* of one that was killed */
	dir = open_folder();
	STREQ(list(), "");
	EQ(perfdir_begin(dir, &fd), 0);
	EQ(write(fd, "x", 1), 1);
	STREQ(list(), ".perf.data.unfinished");
	perfdir_abort(dir);
	STREQ(list(), "");
	EQ(perfdir_begin(dir, &fd), 0);
	perfdir_free(TAKE(dir));
	STREQ(list(), "");
	remove_folder();
}

TEST(perfdir_has_one_writer)
{
	_cleanup_(perfdir_freep) struct perfdir *dir = NULL;
	struct perfdir *second = NULL;
	char want[256];
	struct buf why;

	make_folder();
	dir = open_folder();
	buf_init(&why, 1024);
	EQ(perfdir_open(folder, &options, &second, &why), -EBUSY);
	snprintf(want, sizeof(want),
		 "another wick, or another perfdata exporter, writes to %s; give each a path of its own", folder);
	STREQ(why.data, want);
	buf_done(&why);
	perfdir_free(TAKE(dir));
	dir = open_folder();
	remove_folder();
}

TEST(perfdir_keeps_so_many)
{
	_cleanup_(perfdir_freep) struct perfdir *dir = NULL;

	make_folder();
	options = (struct perfdir_options){ .max_files = 2 };
	touch("perf-20220914-050214.txt");	/* none of ours */
	touch("perf-20220914.data");
	touch("perf.data");
	dir = open_folder();
	for (u32 i = 0; i < 4; i++)
		put(dir, TIME + i * SECOND, 1);
	STREQ(list(), "perf-20220914-050214.txt perf-20220914-050216.data perf-20220914-050217.data perf-20220914.data "
		      "perf.data");
	EQ(perfdir_removed(dir), 2);
	remove_folder();
}

TEST(perfdir_keeps_them_for_so_long)
{
	_cleanup_(perfdir_freep) struct perfdir *dir = NULL;

	make_folder();
	options = (struct perfdir_options){ .max_age_ns = HOUR };
	dir = open_folder();
	put(dir, TIME, 1);
	put(dir, TIME + HOUR, 1);
	put(dir, TIME + HOUR + SECOND, 1);
	STREQ(list(), "perf-20220914-060214.data perf-20220914-060215.data");
	remove_folder();
}

TEST(perfdir_keeps_so_many_bytes_and_always_the_newest)
{
	_cleanup_(perfdir_freep) struct perfdir *dir = NULL;

	make_folder();
	options = (struct perfdir_options){ .max_bytes = 100 };
	dir = open_folder();
	put(dir, TIME, 40);
	put(dir, TIME, 40);
	put(dir, TIME + 2 * SECOND, 40);
	STREQ(list(), "perf-20220914-050214-1.data perf-20220914-050216.data");
	put(dir, TIME + 3 * SECOND, 400);
	STREQ(list(), "perf-20220914-050217.data");
	remove_folder();
}

TEST(perfdir_removes_files_of_the_future_first)
{
	_cleanup_(perfdir_freep) struct perfdir *dir = NULL;

	make_folder();
	options = (struct perfdir_options){ .max_files = 2, .max_age_ns = HOUR };
	dir = open_folder();
	put(dir, TIME + 20 * HOUR, 1);
	put(dir, TIME, 1);
	STREQ(list(), "perf-20220914-050214.data perf-20220915-010214.data");
	put(dir, TIME + SECOND, 1);
	STREQ(list(), "perf-20220914-050214.data perf-20220914-050215.data");
	remove_folder();
}

TEST(perfdir_makes_its_directory_anew)
{
	_cleanup_(perfdir_freep) struct perfdir *dir = NULL;

	options = (struct perfdir_options){ 0 };
	make_folder();
	rmdir(folder);
	dir = open_folder();
	remove_folder();
	put(dir, TIME, 1);
	STREQ(list(), "perf-20220914-050214.data");
	remove_folder();
}
