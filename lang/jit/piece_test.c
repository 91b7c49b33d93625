// SPDX-License-Identifier: Apache-2.0
#include "lang/jit/piece.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "lang/lang.h"
#include "test.h"

static void put(const char *name, const char *text, int flags)
{
	_cleanup_(closep) int fd = open(name, O_WRONLY | O_CREAT | flags, 0600);

	OK(fd >= 0);
	EQ(write(fd, text, strlen(text)), strlen(text));
}

static void check_piece(const char *name, size_t cap, struct piece_file *known, bool is_known, const char *text)
{
	struct lang_process self = { .pid = (u32)getpid() };
	_cleanup_(piece_donep) struct piece piece = { 0 };

	EQ(piece_read(&self, getuid(), name, known, cap, &piece), 0);
	EQ(piece.is_known, is_known);
	EQ(piece.bytes, strlen(text));
	OK(!piece.bytes || !memcmp(piece.at, text, piece.bytes));
	*known = piece.file;
	known->done += (off_t)piece.bytes;
}

TEST(piece_is_what_was_added_to_a_file)
{
	char name[] = "/tmp/wick-piece-XXXXXX", other[64];
	struct piece_file known = { 0 };

	close(mkstemp(name));
	snprintf(other, sizeof(other), "%s.new", name);
	put(name, "first", 0);
	check_piece(name, 3, &known, false, "fir");
	check_piece(name, 64, &known, true, "st");
	check_piece(name, 64, &known, true, "");
	put(name, " more", O_APPEND);
	check_piece(name, 64, &known, true, " more");
	put(name, "x", O_TRUNC);
	check_piece(name, 64, &known, false, "x");
	EQ(truncate(name, PIECE_FILE_BYTES_MAX + 1), 0);
	{
		struct lang_process self = { .pid = (u32)getpid() };
		struct piece piece = { 0 };

		EQ(piece_read(&self, getuid(), name, &known, 0, &piece), 0);
		OK(piece.is_cut && piece.file_bytes == PIECE_FILE_BYTES_MAX);
	}
	put(other, "another", 0);
	EQ(rename(other, name), 0);
	check_piece(name, 0, &known, false, "");
	check_piece(name, 64, &known, true, "another");
	unlink(name);
}

TEST(piece_is_not_taken_of_just_any_file)
{
	struct lang_process self = { .pid = (u32)getpid() };
	struct piece_file known = { 0 };
	char name[] = "/tmp/wick-piece-XXXXXX", link[64];
	struct piece piece;

	close(mkstemp(name));
	snprintf(link, sizeof(link), "%s.link", name);
	EQ(symlink(name, link), 0);
	EQ(piece_read(&self, getuid(), link, &known, 1, &piece), -ENOENT);
	EQ(piece_read(&self, getuid(), name, &known, 1, &piece), 0);
	unlink(link);
	unlink(name);
	EQ(piece_read(&self, getuid(), "/dev/null", &known, 1, &piece), -ENOENT);
	EQ(piece_read(&self, getuid(), "/there/is/none", &known, 1, &piece), -ENOENT);
}
