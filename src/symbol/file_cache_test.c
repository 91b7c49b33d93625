// SPDX-License-Identifier: Apache-2.0
#include "symbol/file_cache.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "test.h"

static void add_file(int dir_fd, const char *name, off_t bytes, time_t used)
{
	struct timespec times[2] = { { .tv_sec = used }, { .tv_sec = used } };
	_cleanup_(closep) int fd = openat(dir_fd, name, O_WRONLY | O_CREAT, 0600);

	OK(fd >= 0);
	EQ(ftruncate(fd, bytes), 0);
	EQ(futimens(fd, times), 0);
}

static bool is_there(int dir_fd, const char *name)
{
	return faccessat(dir_fd, name, F_OK, 0) == 0;
}

TEST(file_cache_removes_what_was_used_longest_ago)
{
	char path[] = "/tmp/wick-cache-XXXXXX";
	_cleanup_(closep) int dir_fd = -1;
	time_t now = time(NULL);

	OK(mkdtemp(path));
	dir_fd = open(path, O_RDONLY | O_DIRECTORY);
	OK(dir_fd >= 0);
	add_file(dir_fd, "old", 100, now - 300);
	add_file(dir_fd, "older", 100, now - 400);
	add_file(dir_fd, "new", 100, now - 10);
	add_file(dir_fd, "x.part-1", 10, now - 7200);
	EQ(mkdirat(dir_fd, "directory", 0700), 0);
	EQ(file_cache_prune(dir_fd, 1000), 0);
	OK(!is_there(dir_fd, "x.part-1"));
	EQ(file_cache_prune(dir_fd, 200), 1);
	OK(!is_there(dir_fd, "older"));
	EQ(file_cache_prune(dir_fd, 99), 2);
	OK(!is_there(dir_fd, "new"));
	OK(is_there(dir_fd, "directory"));
	EQ(unlinkat(dir_fd, "directory", AT_REMOVEDIR), 0);
	EQ(rmdir(path), 0);
}
