// SPDX-License-Identifier: Apache-2.0
#include "exe/rows_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "exe/rows.h"
#include "exe/rows_build.h"
#include "exe/rows_file.h"
#include "test.h"

#define MAX_BYTES (1u << 20)

static const u8 id_a[20] = "build id a", id_b[20] = "build id b", id_c[20] = "build id c";

static char dir[64];

static void make_dir(void)
{
	snprintf(dir, sizeof(dir), "/tmp/rows_cache.XXXXXX");
	OK(mkdtemp(dir));
}

static void remove_dir(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r '%s'", dir);
	EQ(system(command), 0);
}

static const char *path_of(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

/* The name that the cache gives to an id. */
static const char *name_of(const u8 id[20])
{
	static char name[64];

	for (int i = 0; i < 20; i++)
		snprintf(name + 2 * i, 3, "%02x", id[i]);
	snprintf(name + 40, sizeof(name) - 40, ".rows");
	return name;
}

static struct rows *make_rows(u32 count)
{
	struct rows_build *build = rows_build_new();
	struct rows *rows;

	for (u32 i = 0; i < count; i++)
		rows_build_add(build, i, &(struct unwind_rule){ .kind = RULE_CFA, .cfa_off = 8 + i % 2 });
	EQ(rows_build_finish(build, 62, count, &rows), 0);
	rows_build_free(build);
	return rows;
}

static struct rows_cache *open_cache(u64 max_bytes)
{
	struct rows_cache *cache;

	EQ(rows_cache_open(dir, max_bytes, 0, &cache), 0);
	return cache;
}

static void same(const struct rows_file *file, const struct rows *want)
{
	u16 low[2048], rule[2048];

	OK(!memcmp(rows_file_head(file), want, sizeof(*want)));
	for (u32 i = 0; i < want->page_count; i++) {
		const struct rows_page *page = &rows_pages(want)[i];

		OK(!memcmp(rows_file_find(file, page->number), page, sizeof(*page)));
		EQ(rows_file_page(file, page, low, rule), 0);
		OK(!memcmp(low, rows_low(want) + page->first, page->count * sizeof(*low)));
		OK(!memcmp(rule, rows_rule(want) + page->first, page->count * sizeof(*rule)));
	}
	for (u32 i = 0; i < want->rule_count; i++) {
		struct unwind_rule found;

		EQ(rows_file_rule(file, i, &found), 0);
		OK(!memcmp(&found, &rows_rules(want)[i], sizeof(found)));
	}
}

/* 0 if the id's rows come back as they were put, else the error. */
static int get(struct rows_cache *cache, const u8 id[20], u32 count)
{
	struct rows *want = make_rows(count);
	struct rows_file *file = NULL;
	int r = rows_cache_get(cache, id, 20, &file);

	if (r == 0)
		same(file, want);
	rows_file_free(file);
	free(want);
	return r;
}

static void put(struct rows_cache *cache, const u8 id[20], u32 count, int want)
{
	struct rows *rows = make_rows(count);

	EQ(rows_cache_put(cache, id, 20, rows), want);
	free(rows);
}

/* Sets the last use of an id's file. */
static void set_used(const u8 id[20], long second)
{
	struct timespec times[2] = { { .tv_sec = second }, { .tv_sec = second } };

	EQ(utimensat(AT_FDCWD, path_of(name_of(id)), times, 0), 0);
}

TEST(rows_cache_keeps_rows_for_the_next_wick)
{
	struct rows_cache *cache, *next;

	make_dir();
	cache = open_cache(MAX_BYTES);
	EQ(get(cache, id_a, 10), -ENOENT);
	put(cache, id_a, 10, 0);
	EQ(get(cache, id_a, 10), 0);
	EQ(get(cache, id_b, 10), -ENOENT);
	next = open_cache(MAX_BYTES);
	EQ(get(next, id_a, 10), 0);
	put(next, id_a, 20, 0);
	EQ(get(cache, id_a, 20), 0);
	EQ(rows_cache_stats(cache).hits, 2);
	EQ(rows_cache_stats(cache).misses, 2);
	EQ(rows_cache_stats(cache).stored, 1);
	rows_cache_free(cache);
	rows_cache_free(next);
	remove_dir();
}

TEST(rows_cache_removes_and_counts_what_is_corrupt)
{
	struct stat st;

	make_dir();
	for (off_t at = 0; at < 200; at += 7) {
		struct rows_cache *cache = open_cache(MAX_BYTES);
		const char *path;
		int fd;
		u8 byte;

		put(cache, id_a, 10, 0);
		path = path_of(name_of(id_a));
		fd = open(path, O_RDWR);
		EQ(pread(fd, &byte, 1, at), 1);
		byte ^= 0x10;
		EQ(pwrite(fd, &byte, 1, at), 1);
		close(fd);
		EQ(get(cache, id_a, 10), -ENOENT);
		EQ(rows_cache_stats(cache).corrupt + rows_cache_stats(cache).stale, 1);
		EQ(stat(path, &st), -1);
		rows_cache_free(cache);
	}
	remove_dir();
}

TEST(rows_cache_does_not_believe_a_cut_or_renamed_file)
{
	struct rows_cache *cache;
	char other[256];

	make_dir();
	cache = open_cache(MAX_BYTES);
	put(cache, id_a, 10, 0);
	EQ(truncate(path_of(name_of(id_a)), 100), 0);
	EQ(get(cache, id_a, 10), -ENOENT);
	EQ(rows_cache_stats(cache).corrupt, 1);
	put(cache, id_a, 10, 0);
	snprintf(other, sizeof(other), "%s", path_of(name_of(id_b)));
	EQ(rename(path_of(name_of(id_a)), other), 0);
	EQ(get(cache, id_b, 10), -ENOENT);
	EQ(rows_cache_stats(cache).corrupt, 2);
	rows_cache_free(cache);
	remove_dir();
}

TEST(rows_cache_follows_no_link_and_waits_for_no_fifo)
{
	struct rows_cache *cache;

	make_dir();
	cache = open_cache(MAX_BYTES);
	EQ(symlink("/etc/passwd", path_of(name_of(id_a))), 0);
	EQ(get(cache, id_a, 10), -ENOENT);
	EQ(mkfifo(path_of(name_of(id_b)), 0600), 0);
	EQ(get(cache, id_b, 10), -ENOENT);
	EQ(rows_cache_stats(cache).corrupt, 2);
	EQ(access("/etc/passwd", R_OK), 0);
	put(cache, id_a, 10, 0);
	put(cache, id_b, 10, 0);
	EQ(get(cache, id_a, 10), 0);
	EQ(get(cache, id_b, 10), 0);
	rows_cache_free(cache);
	remove_dir();
}

TEST(rows_cache_evicts_what_was_used_least_lately)
{
	struct rows_cache *cache;
	u64 each;

	make_dir();
	cache = open_cache(MAX_BYTES);
	put(cache, id_a, 1000, 0);
	{
		struct stat st;

		EQ(stat(path_of(name_of(id_a)), &st), 0);
		each = st.st_size;
	}
	rows_cache_free(cache);
	cache = open_cache(each * 28 / 10);	/* room for two */
	put(cache, id_b, 1000, 0);
	set_used(id_a, 1000);
	set_used(id_b, 500);
	EQ(get(cache, id_b, 1000), 0);	/* now the latest */
	put(cache, id_c, 1000, 0);
	EQ(get(cache, id_a, 1000), -ENOENT);
	EQ(rows_cache_stats(cache).evicted, 1);
	EQ(get(cache, id_b, 1000), 0);
	EQ(get(cache, id_c, 1000), 0);
	rows_cache_free(cache);
	remove_dir();
}

TEST(rows_cache_makes_room_when_it_opens)
{
	struct rows_cache *cache;
	struct stat st;

	make_dir();
	cache = open_cache(MAX_BYTES);
	put(cache, id_a, 1000, 0);
	put(cache, id_b, 1000, 0);
	EQ(close(open(path_of("0123456789abcdef.tmp"), O_CREAT | O_WRONLY, 0600)), 0);
	EQ(truncate(path_of("0123456789abcdef.tmp"), 100000), 0);
	set_used(id_a, 2000);
	set_used(id_b, 2001);
	EQ(utimensat(AT_FDCWD, path_of("0123456789abcdef.tmp"), (struct timespec[2]){ { 0 }, { 0 } }, 0), 0);
	rows_cache_free(cache);
	cache = open_cache(20000);
	EQ(stat(path_of("0123456789abcdef.tmp"), &st), -1);
	EQ(rows_cache_stats(cache).evicted, 1);
	EQ(get(cache, id_a, 1000), 0);
	rows_cache_free(cache);
	remove_dir();
}

TEST(rows_cache_refuses_what_is_too_big)
{
	struct rows_cache *cache;

	make_dir();
	cache = open_cache(1000);
	put(cache, id_a, 1000, -E2BIG);
	EQ(get(cache, id_a, 1000), -ENOENT);
	rows_cache_free(cache);
	remove_dir();
}

TEST(rows_cache_refuses_directories_that_others_could_touch)
{
	struct rows_cache *cache;
	struct stat st;
	char link[256];

	make_dir();
	EQ(close(open(path_of("file"), O_CREAT | O_WRONLY, 0600)), 0);
	EQ(chmod(dir, 0770), 0);
	EQ(rows_cache_open(dir, MAX_BYTES, 0, &cache), -EPERM);
	EQ(chmod(dir, 0755), 0);
	EQ(rows_cache_open(dir, MAX_BYTES, 0, &cache), 0);
	rows_cache_free(cache);
	EQ(stat(dir, &st), 0);
	EQ(st.st_mode & 0777, 0700);
	snprintf(link, sizeof(link), "%s", path_of("link"));
	EQ(symlink(dir, link), 0);
	OK(rows_cache_open(link, MAX_BYTES, 0, &cache) < 0);
	EQ(rows_cache_open(path_of("file"), MAX_BYTES, 0, &cache), -ENOTDIR);
	EQ(rows_cache_open(path_of("no/such"), MAX_BYTES, 0, &cache), -ENOENT);
	if (geteuid() == 0) {
		EQ(chown(dir, 12345, 12345), 0);
		EQ(rows_cache_open(dir, MAX_BYTES, 0, &cache), -EPERM);
	}
	remove_dir();
}

TEST(rows_cache_makes_its_directory)
{
	struct rows_cache *cache;
	struct stat st;
	char made[256];

	make_dir();
	snprintf(made, sizeof(made), "%s", path_of("made"));
	EQ(rows_cache_open(made, MAX_BYTES, 0, &cache), 0);
	EQ(stat(made, &st), 0);
	EQ(st.st_mode & 0777, 0700);
	rows_cache_free(cache);
	remove_dir();
}

TEST(rows_cache_sets_rows_aside_without_a_name)
{
	struct rows *rows = make_rows(100);
	struct rows_file *file;
	struct rows_cache *cache;

	make_dir();
	cache = open_cache(MAX_BYTES);
	EQ(rows_cache_aside(cache, rows, &file), 0);
	same(file, rows);
	rows_file_free(file);
	EQ(rmdir(dir), 0);	/* nothing is in it */
	rows_cache_free(cache);
	EQ(rows_cache_aside(NULL, rows, &file), 0);
	same(file, rows);
	rows_file_free(file);
	free(rows);
}

TEST(rows_cache_may_be_missing)
{
	EQ(get(NULL, id_a, 10), -ENOENT);
	put(NULL, id_a, 10, 0);
	EQ(rows_cache_stats(NULL).misses, 0);
	rows_cache_free(NULL);
}
