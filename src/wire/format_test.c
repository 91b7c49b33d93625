// SPDX-License-Identifier: Apache-2.0
#include "wire/format.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profile/dump_test.h"
#include "profile/profile.h"
#include "test.h"

#define BYTES_MAX ((size_t)64 << 20)

static char folder[] = "/tmp/wick-format-XXXXXX";

static const char *in_folder(const char *name)
{
	static char path[2][256];
	static int turn;

	if (strstr(folder, "XXXXXX"))
		OK(mkdtemp(folder));
	turn = !turn;
	snprintf(path[turn], sizeof(path[turn]), "%s/%s", folder, name);
	return path[turn];
}

static void leave_folder(void)
{
	EQ(rmdir(folder), 0);
}

TEST(format_is_known_by_name_and_by_the_end_of_a_path)
{
	STREQ(format_by_name("otlp")->name, "otlp");
	OK(!format_by_name("otl"));
	STREQ(format_by_path("dir/x.otlp")->name, "otlp");
	STREQ(format_by_path("x.otlp.zst")->name, "otlp");
	STREQ(format_by_path("x.pb.gz")->name, "pprof");
	STREQ(format_by_path("x.pprof")->name, "pprof");
	STREQ(format_by_path("x.json")->name, "json");
	STREQ(format_by_path("x.folded.gz")->name, "folded");
	STREQ(format_by_path("x.speedscope.json")->name, "speedscope");
	STREQ(format_by_path("x.speedscope.json.gz")->name, "speedscope");
	OK(!format_by_path("x.gz"));
	OK(!format_by_path("x"));
	OK(!format_by_path(".otlp"));
}

TEST(format_writes_files_that_it_reads_back)
{
	static const char *const names[] = { "x.otlp", "x.otlp.gz", "x.otlp.zst" };
	_cleanup_(profile_freep) struct profile *p = profile_random(3, 0);
	char *text = profile_dump(p);

	for (size_t i = 0; i < 3; i++) {
		_cleanup_(profile_freep) struct profile *q = NULL;
		const char *path = in_folder(names[i]);
		struct stat st;
		char *again;

		EQ(format_write_file(path, format_by_path(path), p), 0);
		EQ(format_write_file(path, format_by_path(path), p), 0);
		EQ(stat(path, &st), 0);
		EQ(st.st_mode & 0777, 0600);
		EQ(format_read_file(path, NULL, BYTES_MAX, &q), 0);
		again = profile_dump(q);
		STREQ(again, text);
		free(again);
		q = (profile_free(q), NULL);
		EQ(format_read_file(path, NULL, 100, &q), -E2BIG);
		unlink(path);
	}
	free(text);
	leave_folder();
}

static void *read_fifo(void *path)
{
	struct profile *q = NULL;

	EQ(format_read_file(path, format_by_name("otlp"), BYTES_MAX, &q), 0);
	return q;
}

TEST(format_writes_through_fifos_and_links)
{
	_cleanup_(profile_freep) struct profile *p = profile_random(4, 0);
	char *path = strdup(in_folder("fifo"));
	const char *link = in_folder("link"), *target;
	pthread_t reader;
	struct stat st;
	void *q;

	EQ(mkfifo(path, 0600), 0);
	EQ(pthread_create(&reader, NULL, read_fifo, path), 0);
	EQ(format_write_file(path, format_by_name("otlp"), p), 0);
	EQ(pthread_join(reader, &q), 0);
	EQ(((struct profile *)q)->stacks.count, p->stacks.count);
	profile_free(q);
	EQ(stat(path, &st), 0);
	OK(S_ISFIFO(st.st_mode));
	EQ(symlink("target", link), 0);
	EQ(format_write_file(link, format_by_name("otlp"), p), 0);
	EQ(lstat(link, &st), 0);
	OK(S_ISLNK(st.st_mode));
	unlink(link);
	unlink(path);
	target = in_folder("target");
	EQ(stat(target, &st), 0);
	OK(st.st_size > 0);
	unlink(target);
	free(path);
	leave_folder();
}

TEST(format_leaves_nothing_behind_when_it_cannot_write)
{
	_cleanup_(profile_freep) struct profile *p = profile_new();
	const char *path = in_folder("directory");

	EQ(mkdir(path, 0700), 0);
	EQ(format_write_file(path, format_by_name("otlp"), p), -EISDIR);
	rmdir(path);
	EQ(format_write_file(in_folder("no/such"), format_by_name("otlp"), p), -ENOENT);
	leave_folder();
}

TEST(format_gives_files_to_the_user_of_sudo)
{
	_cleanup_(profile_freep) struct profile *p = profile_new();
	const char *path = in_folder("x.otlp");
	struct stat st;

	if (geteuid() != 0)
		SKIP("only root can give files away");
	setenv("SUDO_UID", "12345", 1);
	setenv("SUDO_GID", "54321", 1);
	EQ(format_write_file(path, format_by_name("otlp"), p), 0);
	EQ(stat(path, &st), 0);
	EQ(st.st_uid, 12345);
	EQ(st.st_gid, 54321);
	unlink(path);
	leave_folder();
}

TEST(format_refuses_what_it_does_not_know)
{
	struct profile *q = NULL;
	const char *path = in_folder("noise");
	int fd = open(path, O_WRONLY | O_CREAT, 0600);

	EQ(write(fd, "\x01\x02\x03\xff\xfe\x00", 6), 6);
	close(fd);
	EQ(format_read_file(path, NULL, BYTES_MAX, &q), -EBADMSG);
	unlink(path);
	EQ(format_read_file(path, NULL, BYTES_MAX, &q), -ENOENT);
	leave_folder();
}

TEST(format_tells_text_of_any_letters_from_a_binary_one)
{
	for (char letter = 'a'; letter <= 'z'; letter++) {
		char text[64];

		snprintf(text, sizeof(text), "%cain;draw 3\n%cpx 1\n", letter, letter);
		for (size_t i = 0; formats[i]; i++)
			if (formats[i]->sniff)
				EQ(formats[i]->sniff(text, strlen(text)), !strcmp(formats[i]->name, "folded"));
	}
}

TEST(format_that_is_only_written_is_not_read)
{
	_cleanup_(profile_freep) struct profile *p = profile_random(3, 0);
	const char *path = in_folder("x.speedscope.json");
	struct profile *q = NULL;

	EQ(format_write_file(path, format_by_path(path), p), 0);
	EQ(format_read_file(path, NULL, BYTES_MAX, &q), -EOPNOTSUPP);
	EQ(format_read_file(path, format_by_name("speedscope"), BYTES_MAX, &q), -EOPNOTSUPP);
	unlink(path);
	leave_folder();
}

TEST(format_writes_even_nothing)
{
	_cleanup_(profile_freep) struct profile *p = profile_new();
	struct buf b;

	for (size_t i = 0; formats[i]; i++) {
		int r;

		buf_init(&b, BYTES_MAX);
		r = formats[i]->encode(p, &b);
		/* Compilers would take a profile without anything for one of a program that does nothing. */
		OK(r == 0 || (r == -ENODATA && strstr(formats[i]->name, "pgo")));
		buf_done(&b);
	}
}

static int encode_with(const struct format_ops *format, const struct profile *p, long failing, long *ret_count)
{
	struct buf b;
	int r;

	buf_init(&b, BYTES_MAX);
	test_alloc_fail(failing);
	r = format->encode(p, &b);
	*ret_count = test_alloc_reset();
	buf_done(&b);
	return r;
}

TEST(format_writers_survive_every_failed_allocation)
{
	_cleanup_(profile_freep) struct profile *p = profile_random(5, 0);
	long count, ignored;

	for (size_t i = 0; formats[i]; i++) {
		EQ(encode_with(formats[i], p, -1, &count), 0);
		for (long n = 0; n < count; n++)
			EQ(encode_with(formats[i], p, n, &ignored), -ENOMEM);
	}
}
