// SPDX-License-Identifier: Apache-2.0
#include "exporters/filewriter.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "exporters/slowwrite.h"
#include "test.h"

#define SECOND 1000000000ull
#define TIME (1663131734ull * SECOND + 173000000)	/* 2022-09-14T05-02-14.173 */

static char folder[64];

static const char *path_of(const char *name)
{
	static char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static void make_folder(void)
{
	snprintf(folder, sizeof(folder), "/tmp/wick-filewriter-XXXXXX");
	OK(mkdtemp(folder));
}

static void remove_folder(void)
{
	DIR *directory = opendir(folder);
	const struct dirent *entry;

	while ((entry = readdir(directory)))
		(void)unlinkat(dirfd(directory), entry->d_name, 0);
	closedir(directory);
	rmdir(folder);
}

static void put_file(const char *name, const char *at, size_t bytes)
{
	FILE *file = fopen(path_of(name), "we");

	OK(file && fwrite(at, 1, bytes, file) == bytes && !fclose(file));
}

/* Its contents, ended by NUL. */
static const char *get_file(const char *name, size_t *ret_bytes)
{
	static char text[1 << 16];
	FILE *file = fopen(path_of(name), "re");

	if (!file)
		FAIL("there is no %s", path_of(name));
	*ret_bytes = fread(text, 1, sizeof(text) - 1, file);
	text[*ret_bytes] = '\0';
	fclose(file);
	return text;
}

static void expect(const char *name, const char *at, size_t bytes)
{
	size_t got_bytes;
	const char *got = get_file(name, &got_bytes);

	EQ(got_bytes, bytes);
	OK(!memcmp(got, at, bytes));
}
#define EXPECT(name, literal) expect(name, literal, sizeof(literal) - 1)

static struct filewriter *must_open(const char *name, const struct filewriter_options *options)
{
	struct filewriter *writer = NULL;
	struct buf why;

	buf_init(&why, 1024);
	if (filewriter_open(path_of(name), options, &writer, &why) < 0)
		FAIL("%s", why.data);
	buf_done(&why);
	return writer;
}

static u32 count_files(void)
{
	DIR *directory = opendir(folder);
	u32 count = 0;

	while (readdir(directory))
		count++;
	closedir(directory);
	return count - 2;
}

TEST(filewriter_writes_lines_and_length_framed_records)
{
	struct filewriter_options options = { .lines = true, .record_max = 1000 };
	struct filewriter *writer;

	make_folder();
	put_file("a.json", "old\n", 4);
	writer = must_open("a.json", &options);
	EQ(filewriter_write(writer, "{}", 2, TIME), 0);
	EQ(filewriter_write(writer, "{1}", 3, TIME), 0);
	EXPECT("a.json", "{}\n{1}\n");
	filewriter_free(writer);
	options.lines = false;
	writer = must_open("a.bin", &options);
	EQ(filewriter_write(writer, "abc", 3, TIME), 0);
	EQ(filewriter_write(writer, "", 0, TIME), 0);
	EXPECT("a.bin", "\0\0\0\3abc\0\0\0\0");
	EQ(filewriter_write(writer, folder, 1001, TIME), -E2BIG);
	filewriter_free(writer);
	remove_folder();
}

TEST(filewriter_goes_on_after_a_half_record)
{
	struct filewriter_options options = { .lines = true, .append = true, .record_max = 1000 };
	struct filewriter *writer;

	make_folder();
	put_file("a.json", "{}\n{\"hal", 8);
	writer = must_open("a.json", &options);
	EQ(filewriter_write(writer, "{1}", 3, TIME), 0);
	EXPECT("a.json", "{}\n{\"hal\n{1}\n");
	filewriter_free(writer);
	options.lines = false;
	put_file("a.bin", "\0\0\0\2ab\0\0\0\5hal", 13);
	writer = must_open("a.bin", &options);
	EQ(filewriter_write(writer, "c", 1, TIME), 0);
	EXPECT("a.bin", "\0\0\0\2ab\0\0\0\1c");
	filewriter_free(writer);
	put_file("b.bin", "\0\0\0\2ab\0\0", 8);
	writer = must_open("b.bin", &options);
	EXPECT("b.bin", "\0\0\0\2ab");
	filewriter_free(writer);
	remove_folder();
}

TEST(filewriter_leaves_files_alone_that_are_none_of_its_own)
{
	struct filewriter_options options = { .append = true, .record_max = 1000 };
	struct filewriter *writer = NULL;
	struct buf why;

	make_folder();
	put_file("notes.txt", "dear diary", 10);
	buf_init(&why, 1024);
	EQ(filewriter_open(path_of("notes.txt"), &options, &writer, &why), -EBADMSG);
	OK(strstr(why.data, "move it away"));
	EXPECT("notes.txt", "dear diary");
	why.len = 0;
	EQ(filewriter_open(path_of("no/where"), &options, &writer, &why), -ENOENT);
	OK(strstr(why.data, "create_directory"));
	buf_done(&why);
	remove_folder();
}

TEST(filewriter_rotates_before_a_file_grows_too_large)
{
	struct filewriter_options options = { .lines = true, .rotate = true, .max_bytes = 10, .max_backups = 2,
					      .record_max = 1000 };
	struct filewriter *writer;

	make_folder();
	writer = must_open("data.json", &options);
	EQ(filewriter_write(writer, "aaaa", 4, TIME), 0);
	EQ(filewriter_write(writer, "bbbb", 4, TIME), 0);
	EQ(count_files(), 1);
	EQ(filewriter_write(writer, "cccc", 4, TIME), 0);
	EXPECT("data-2022-09-14T05-02-14.173.json", "aaaa\nbbbb\n");
	EXPECT("data.json", "cccc\n");
	EQ(filewriter_write(writer, "larger than a file", 18, TIME), 0);
	EXPECT("data-2022-09-14T05-02-14.174.json", "cccc\n");
	EXPECT("data.json", "larger than a file\n");
	EQ(filewriter_write(writer, "d", 1, TIME + SECOND), 0);
	EXPECT("data.json", "d\n");
	EQ(count_files(), 3);
	EXPECT("data-2022-09-14T05-02-15.173.json", "larger than a file\n");
	EXPECT("data-2022-09-14T05-02-14.174.json", "cccc\n");
	filewriter_free(writer);
	writer = must_open("data.json", &options);
	EXPECT("data.json", "d\n");
	filewriter_free(writer);
	remove_folder();
}

TEST(filewriter_removes_only_its_own_old_files)
{
	struct filewriter_options options = { .lines = true, .rotate = true, .max_bytes = 3, .max_days = 2,
					      .record_max = 1000 };
	struct filewriter *writer;

	make_folder();
	put_file("data-2022-09-12T05-02-14.172.json", "", 0);
	put_file("data-2022-09-12T05-02-14.174.json", "", 0);
	put_file("data-2021-09-12T05-02-14.172.txt", "", 0);
	put_file("data-2021-xx-12T05-02-14.172.json", "", 0);
	put_file("other-2021-09-12T05-02-14.172.json", "", 0);
	writer = must_open("data.json", &options);
	EQ(filewriter_write(writer, "aa", 2, TIME), 0);
	EQ(filewriter_write(writer, "bb", 2, TIME), 0);
	EQ(count_files(), 6);
	EQ(access(path_of("data-2022-09-12T05-02-14.172.json"), F_OK), -1);
	filewriter_free(writer);
	remove_folder();
}

/* A limit on the size of files is what comes nearest to a full disk without one. */
static void limit_files(rlim_t bytes)
{
	struct rlimit limit;

	getrlimit(RLIMIT_FSIZE, &limit);
	limit.rlim_cur = bytes;
	EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

TEST(filewriter_takes_back_what_a_full_disk_took_half_of)
{
	struct filewriter_options options = { .record_max = 1000 };
	struct filewriter *writer;

	make_folder();
	signal(SIGXFSZ, SIG_IGN);
	writer = must_open("a.bin", &options);
	EQ(filewriter_write(writer, "abc", 3, TIME), 0);
	limit_files(12);
	EQ(filewriter_write(writer, "defghijk", 8, TIME), -EFBIG);
	EXPECT("a.bin", "\0\0\0\3abc");
	EQ(filewriter_write(writer, "d", 1, TIME), 0);
	limit_files(RLIM_INFINITY);
	EQ(filewriter_write(writer, "ef", 2, TIME), 0);
	EXPECT("a.bin", "\0\0\0\3abc\0\0\0\1d\0\0\0\2ef");
	filewriter_free(writer);
	remove_folder();
}

TEST(filewriter_writes_to_a_pipe)
{
	struct filewriter_options options = { .lines = true, .rotate = true, .max_bytes = 1, .record_max = 1000 };
	struct filewriter *writer;
	char got[16];
	int fd;

	make_folder();
	EQ(mkfifo(path_of("pipe"), 0600), 0);
	writer = must_open("pipe", &options);
	fd = open(path_of("pipe"), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	EQ(filewriter_write(writer, "abc", 3, TIME), 0);
	EQ(filewriter_write(writer, "d", 1, TIME), 0);
	EQ(read(fd, got, sizeof(got)), 6);
	OK(!memcmp(got, "abc\nd\n", 6));
	EQ(count_files(), 1);
	close(fd);
	filewriter_free(writer);
	remove_folder();
}

TEST(slowwrite_does_not_wait_for_ever_and_says_what_was_taken)
{
	static char large[1 << 20], got[1 << 20];
	size_t done = 0;
	int fds[2];

	EQ(pipe(fds), 0);
	EQ(slowwrite(fds[1], large, sizeof(large), 0, &done), -ETIMEDOUT);
	OK(done >= PIPE_BUF && done < sizeof(large));
	EQ(read(fds[0], got, sizeof(got)), done);
	EQ(slowwrite(fds[1], large, 100, 0, &done), 0);
	EQ(done, 100);
	close(fds[0]);
	signal(SIGPIPE, SIG_IGN);
	EQ(slowwrite(fds[1], large, 100, 0, &done), -EPIPE);
	EQ(done, 0);
	close(fds[1]);
}

TEST(filewriter_survives_lack_of_memory)
{
	struct filewriter_options options = { .lines = true, .rotate = true, .max_bytes = 1, .max_backups = 1,
					      .record_max = 1000 };

	make_folder();
	for (long i = 0, asked = 1; asked >= i; i++) {
		struct filewriter *writer = NULL;
		struct buf why;

		buf_init(&why, 1024);
		test_alloc_fail(i);
		if (filewriter_open(path_of("a.json"), &options, &writer, &why) == 0) {
			(void)filewriter_write(writer, "a", 1, TIME + (u64)i * SECOND);
			(void)filewriter_write(writer, "b", 1, TIME + (u64)i * SECOND + SECOND / 2);
		}
		asked = test_alloc_reset();
		OK(i < 100);
		filewriter_free(writer);
		buf_done(&why);
	}
	remove_folder();
}
