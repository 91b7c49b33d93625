// SPDX-License-Identifier: Apache-2.0
#include "symbol/debuginfod.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#include "test.h"

/* What needs a server is tested by test/debuginfod.sh against the real one; here is what the directory answers. */
static const u8 id[20] = { 0xab, 0xcd, 0xef };
#define HEX "abcdef0000000000000000000000000000000000"

static void put_file(const char *dir, const char *name, const char *text, time_t age_s)
{
	struct timespec times[2] = { { .tv_sec = time(NULL) - age_s }, { .tv_sec = time(NULL) - age_s } };
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/debuginfod", dir);
	(void)mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/debuginfod/%s", dir, name);
	file = fopen(path, "w");
	OK(file);
	fputs(text, file);
	fclose(file);
	EQ(utimensat(AT_FDCWD, path, times, 0), 0);
}

static time_t age_of(const char *dir, const char *name)
{
	char path[256];
	struct stat st;

	snprintf(path, sizeof(path), "%s/debuginfod/%s", dir, name);
	return stat(path, &st) == 0 ? time(NULL) - st.st_mtime : -1;
}

static void remove_dir(const char *dir)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/debuginfod/%s", dir, HEX);
	(void)remove(path);
	snprintf(path, sizeof(path), "%s/debuginfod", dir);
	(void)remove(path);
	EQ(remove(dir), 0);
}

TEST(debuginfod_answers_from_its_directory)
{
	char dir[] = "/tmp/wick-debuginfod-XXXXXX", text[8] = "";
	_cleanup_(debuginfod_freep) struct debuginfod *d = NULL;
	int fd;

	OK(mkdtemp(dir));
	put_file(dir, HEX, "ELF", 5000);
	EQ(debuginfod_new("file:///etc http://", dir, &d), 0);
	fd = debuginfod_get(d, id, sizeof(id));
	OK(fd >= 0);
	EQ(read(fd, text, sizeof(text)), 3);
	STREQ(text, "ELF");
	close(fd);
	EQ(debuginfod_stats(d).hits, 1);
	OK(age_of(dir, HEX) < 100);	/* it was used */
	remove_dir(dir);
}

TEST(debuginfod_remembers_for_an_hour_what_is_not_there)
{
	char dir[] = "/tmp/wick-debuginfod-XXXXXX";
	_cleanup_(debuginfod_freep) struct debuginfod *d = NULL;

	OK(mkdtemp(dir));
	EQ(debuginfod_new("file:///etc", dir, &d), 0);
	put_file(dir, HEX, "", DEBUGINFOD_MISS_SECONDS - 100);
	EQ(debuginfod_get(d, id, sizeof(id)), -ENOENT);
	OK(age_of(dir, HEX) >= DEBUGINFOD_MISS_SECONDS - 100);
	put_file(dir, HEX, "", DEBUGINFOD_MISS_SECONDS + 100);
	EQ(debuginfod_get(d, id, sizeof(id)), -ENOENT);		/* asked anew: of all (no) servers none has it */
	OK(age_of(dir, HEX) < 100);
	EQ(debuginfod_stats(d).misses, 2);
	EQ(debuginfod_get(d, id, 0), -ENOENT);
	EQ(debuginfod_get(d, id, 33), -ENOENT);
	remove_dir(dir);
}

TEST(debuginfod_does_not_blame_the_file_for_a_dead_server)
{
	char dir[] = "/tmp/wick-debuginfod-XXXXXX";
	_cleanup_(debuginfod_freep) struct debuginfod *d = NULL;

	OK(mkdtemp(dir));
	EQ(debuginfod_new("  http://127.0.0.1:1/ ", dir, &d), 0);
	EQ(debuginfod_get(d, id, sizeof(id)), -EAGAIN);
	EQ(debuginfod_stats(d).failures, 1);
	EQ(debuginfod_get(d, id, sizeof(id)), -EAGAIN);
	EQ(debuginfod_stats(d).failures, 1);		/* left alone for a while */
	EQ(age_of(dir, HEX), -1);
	remove_dir(dir);
}
