// SPDX-License-Identifier: Apache-2.0
#include "base/io.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "test.h"

static int file_of(size_t bytes)
{
	int fd = memfd_create("io", MFD_CLOEXEC);

	OK(fd >= 0);
	for (size_t i = 0; i < bytes; i++)
		EQ(io_write_all(fd, &(char){ (char)(i % 251) }, 1), 0);
	EQ(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

TEST(io_reads_to_the_end_or_what_fits)
{
	_cleanup_(closep) int fd = file_of(10);
	char at[16];

	EQ(io_read(fd, at, 4), 4);
	EQ(io_read(fd, at, sizeof(at)), 6);
	EQ(at[0], 4);
	EQ(io_read(fd, at, sizeof(at)), 0);
	EQ(io_read(-1, at, sizeof(at)), -EBADF);
}

TEST(io_reads_exactly_or_not_at_all)
{
	_cleanup_(closep) int fd = file_of(10);
	char at[16];

	EQ(io_read_exactly(fd, at, 8), 0);
	EQ(io_read_exactly(fd, at, 3), -EBADMSG);
	EQ(io_read_exactly(fd, at, 0), 0);
}

TEST(io_reads_whole_files_up_to_the_limit)
{
	static const struct {
		size_t bytes, max;
		int r;
	} cases[] = {
		{ 0, 10, 0 }, { 10, 10, 0 }, { 11, 10, -E2BIG },
		{ 4096, 4096, 0 }, { 4097, 4096, -E2BIG }, { 9000, 100000, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		_cleanup_(closep) int fd = file_of(cases[i].bytes);
		_cleanup_(buf_done) struct buf out;

		buf_init(&out, cases[i].max);
		EQ(io_read_whole(fd, &out), cases[i].r);
		if (cases[i].r < 0)
			continue;
		EQ(out.len, cases[i].bytes);
		for (size_t n = 0; n < out.len; n++)
			EQ((unsigned char)out.data[n], n % 251);
	}
}

TEST(io_goes_on_where_a_pipe_gave_a_part)
{
	_cleanup_(buf_done) struct buf out;
	int ends[2];
	char at[4];

	EQ(pipe(ends), 0);
	EQ(io_write_all(ends[1], "abc", 3), 0);
	EQ(io_write_all(ends[1], "defg", 4), 0);
	close(ends[1]);
	EQ(io_read_exactly(ends[0], at, 4), 0);
	OK(!memcmp(at, "abcd", 4));
	buf_init(&out, 100);
	EQ(io_read_whole(ends[0], &out), 0);
	EQ(out.len, 3);
	close(ends[0]);
}

TEST(io_reads_the_beginning_of_small_files)
{
	char text[8];

	EQ(io_read_text("/proc/self/comm", text, 3), 2);
	EQ(text[2], '\0');
	EQ(io_read_text("/nowhere", text, sizeof(text)), -ENOENT);
}
