// SPDX-License-Identifier: Apache-2.0
#include "base/private_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "test.h"

static u32 mode_of(int dir_fd, const char *name)
{
	struct stat st;

	return fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 ? st.st_mode & 07777 : 0;
}

static void make_file(int dir_fd, const char *name, mode_t mode)
{
	int fd = openat(dir_fd, name, O_WRONLY | O_CREAT, 0600);

	OK(fd >= 0 && fchmod(fd, mode) == 0);
	close(fd);
}

TEST(private_dir_is_for_its_owner_alone)
{
	char top[] = "/tmp/wick-private-XXXXXX";
	int top_fd, fd;

	OK(mkdtemp(top));
	top_fd = open(top, O_RDONLY | O_DIRECTORY);
	OK(mkdirat(top_fd, "a", 0755) == 0 && fchmodat(top_fd, "a", 0755, 0) == 0);
	fd = private_dir_open(top_fd, "a", NULL);
	OK(fd >= 0);
	EQ(mode_of(top_fd, "a"), 0700);
	make_file(fd, "old", 0644);
	EQ(private_file_check(fd, "old", false, NULL), 0);
	EQ(mode_of(fd, "old"), 0600);
	EQ(private_file_check(fd, "new", false, NULL), -ENOENT);
	EQ(private_file_check(fd, "new", true, NULL), 0);
	EQ(mode_of(fd, "new"), 0600);
	unlinkat(fd, "old", 0);
	unlinkat(fd, "new", 0);
	close(fd);
	unlinkat(top_fd, "a", AT_REMOVEDIR);
	close(top_fd);
	rmdir(top);
}

TEST(private_dir_refuses_links_and_what_others_could_fill)
{
	char top[] = "/tmp/wick-private-XXXXXX";
	struct buf why;
	int top_fd, fd;

	buf_init(&why, 1024);
	OK(mkdtemp(top));
	top_fd = open(top, O_RDONLY | O_DIRECTORY);
	fd = private_dir_open(top_fd, "a", NULL);
	make_file(fd, "file", 0600);
	OK(symlinkat("file", fd, "link") == 0 && linkat(fd, "file", fd, "twice", 0) == 0);
	OK(symlinkat("a", top_fd, "b") == 0);
	EQ(private_file_check(fd, "link", false, NULL), -EPERM);
	EQ(private_file_check(fd, "twice", false, NULL), -EPERM);
	EQ(private_dir_open(top_fd, "b", &why), -ENOTDIR);
	OK(strstr(why.data, "symbolic link"));
	OK(fchmod(fd, 0770) == 0);
	EQ(private_dir_open(top_fd, "a", NULL), -EPERM);
	EQ(mode_of(top_fd, "a"), 0770);
	unlinkat(fd, "link", 0);
	unlinkat(fd, "twice", 0);
	unlinkat(fd, "file", 0);
	close(fd);
	fd = private_dir_open(top_fd, "a", NULL);
	OK(fd >= 0);
	EQ(mode_of(top_fd, "a"), 0700);
	close(fd);
	unlinkat(top_fd, "a", AT_REMOVEDIR);
	unlinkat(top_fd, "b", 0);
	close(top_fd);
	rmdir(top);
	buf_done(&why);
}
