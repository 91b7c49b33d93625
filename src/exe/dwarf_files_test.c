// SPDX-License-Identifier: Apache-2.0
#include "exe/dwarf_files.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "test.h"

#define SECOND 1000000000ull

static int open_self(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	OK(fd >= 0);
	return fd;
}

static int copy_self(void)
{
	_cleanup_(closep) int from = open_self();
	int to = memfd_create("copy", MFD_CLOEXEC);
	struct stat stat;

	OK(to >= 0);
	EQ(fstat(from, &stat), 0);
	while (sendfile(to, from, NULL, stat.st_size) > 0)
		;
	return to;
}

static struct dwarf_file *get(struct dwarf_files *files, int fd, u64 now_ns)
{
	struct dwarf_file *file = NULL;

	EQ(dwarf_files_get(files, fd, -1, -1, now_ns, &file), 0);
	return file;
}

TEST(dwarf_files_stay_open_while_they_are_used)
{
	_cleanup_(dwarf_files_done) struct dwarf_files files;
	_cleanup_(closep) int fd = open_self();
	u64 now = 100 * SECOND;

	dwarf_files_init(&files);
	for (int i = 0; i < 5; i++, now += DWARF_KEPT_NS / 2) {
		(void)get(&files, fd, now);
		dwarf_files_rest(&files, now);
	}
	EQ(files.opened, 1);
}

TEST(dwarf_files_are_closed_when_nobody_uses_them)
{
	_cleanup_(dwarf_files_done) struct dwarf_files files;
	_cleanup_(closep) int fd = open_self();
	const struct dwarf_file *file;

	dwarf_files_init(&files);
	file = get(&files, fd, SECOND);
	dwarf_files_rest(&files, SECOND + DWARF_KEPT_NS - 1);
	OK(file->open);
	dwarf_files_rest(&files, SECOND + DWARF_KEPT_NS);
	OK(!file->open);
	(void)get(&files, fd, SECOND + DWARF_KEPT_NS);
	EQ(files.opened, 2);
}

TEST(dwarf_files_close_the_one_used_least_recently)
{
	_cleanup_(dwarf_files_done) struct dwarf_files files;
	int fds[DWARF_FILES_MAX + 1];

	dwarf_files_init(&files);
	for (int i = 0; i <= DWARF_FILES_MAX; i++) {
		fds[i] = copy_self();
		(void)get(&files, fds[0], SECOND);
		(void)get(&files, fds[i], SECOND);
	}
	EQ(files.opened, DWARF_FILES_MAX + 1);
	(void)get(&files, fds[0], SECOND);
	(void)get(&files, fds[DWARF_FILES_MAX], SECOND);
	EQ(files.opened, DWARF_FILES_MAX + 1);
	(void)get(&files, fds[1], SECOND);
	EQ(files.opened, DWARF_FILES_MAX + 2);
	for (int i = 0; i <= DWARF_FILES_MAX; i++)
		close(fds[i]);
}

TEST(dwarf_files_are_closed_when_memory_is_short)
{
	_cleanup_(dwarf_files_done) struct dwarf_files files;
	_cleanup_(closep) int fd = open_self();
	_cleanup_(freep) void *much = NULL;
	const struct dwarf_file *file;

	dwarf_files_init(&files);
	file = get(&files, fd, SECOND);
	dwarf_files_rest(&files, SECOND);
	OK(file->open);
	much = malloc(DWARF_KEPT_MAX);
	OK(much);
	if (mallinfo2().hblkhd < DWARF_KEPT_MAX)
		SKIP("this allocator does not say how much is used");
	dwarf_files_rest(&files, SECOND);
	OK(!file->open);
}

/* This program with its DWARF compressed, or -1. */
static int compress_self(void)
{
	char path[] = "/tmp/wick-test-XXXXXX", command[128];
	int fd = mkstemp(path), r;

	OK(fd >= 0);
	close(fd);
	snprintf(command, sizeof(command), "objcopy --compress-debug-sections=zlib /proc/%d/exe %s 2>/dev/null",
		 (int)getpid(), path);
	r = system(command);
	fd = r == 0 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	unlink(path);
	return fd;
}

static bool same_bytes(const struct line_section *a, const struct line_section *b)
{
	return a->bytes == b->bytes && (!a->bytes || !memcmp(a->at, b->at, a->bytes));
}

TEST(dwarf_files_unpack_what_is_read_and_nothing_else)
{
	/* One of each: together they may take more memory than is kept. */
	_cleanup_(dwarf_files_done) struct dwarf_files files, packed_files;
	_cleanup_(closep) int fd = open_self(), packed_fd = compress_self();
	const struct dwarf_file *plain, *packed;
	Dwarf_Aranges *aranges;
	size_t count = 0;

	dwarf_files_init(&files);
	dwarf_files_init(&packed_files);
	if (packed_fd < 0)
		SKIP("no objcopy");
	plain = get(&files, fd, SECOND);
	packed = get(&packed_files, packed_fd, SECOND);
	for (int i = 0; i < DWARF_TEXTS; i++)
		OK(same_bytes(&packed->main.text[i], &plain->main.text[i]));
	OK(same_bytes(&packed->sections.line, &plain->sections.line));
	OK(plain->index.units.count);
	EQ(packed->index.units.count, plain->index.units.count);
	EQ(dwarf_getaranges(plain->main.dwarf, &aranges, &count), 0);
	OK(count);
	/* Not unpacked: for libdw it is not there. */
	EQ(dwarf_getaranges(packed->main.dwarf, &aranges, &count), 0);
	EQ(count, 0);
}

TEST(dwarf_files_take_no_file_without_dwarf)
{
	_cleanup_(dwarf_files_done) struct dwarf_files files;
	_cleanup_(closep) int fd = memfd_create("text", MFD_CLOEXEC);
	struct dwarf_file *file = NULL;

	dwarf_files_init(&files);
	EQ(write(fd, "hello\n", 6), 6);
	EQ(dwarf_files_get(&files, fd, -1, -1, SECOND, &file), -ENODATA);
	OK(!file);
	EQ(files.opened, 0);
}
