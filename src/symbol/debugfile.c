// SPDX-License-Identifier: Apache-2.0
#include "symbol/debugfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zlib.h>

#include "proc/root_file.h"

#define DEBUG_DIR "/usr/lib/debug"
#define CRC_BYTES_MAX ((u64)2 << 30)	/* a larger file without a build id is left alone: reading it takes seconds */

static bool has_id(const struct exe_info *info, const u8 *id, u8 bytes)
{
	return bytes && info->build_id_bytes == bytes && !memcmp(info->build_id, id, bytes);
}

static bool is_same_file(int a, int b)
{
	struct stat sa, sb;

	return a >= 0 && b >= 0 && fstat(a, &sa) == 0 && fstat(b, &sb) == 0 && sa.st_dev == sb.st_dev &&
	       sa.st_ino == sb.st_ino;
}

static bool has_crc(int fd, u32 want)
{
	static const size_t piece_bytes = 65536;
	_cleanup_(freep) u8 *piece = malloc(piece_bytes);
	u64 at = 0;
	u32 crc = 0;

	while (piece && at < CRC_BYTES_MAX) {
		ssize_t got = pread(fd, piece, piece_bytes, (off_t)at);

		if (got < 0)
			return false;
		if (got == 0)
			return crc == want;
		crc = crc32(crc, piece, got);
		at += got;
	}
	return false;
}

/* A path of text and numbers that fits, or "". */
__attribute__((format(printf, 2, 3))) static void set_path(struct debugfile *file, const char *format, ...)
{
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(file->path, sizeof(file->path), format, args);
	va_end(args);
	if (len < 0 || (size_t)len >= sizeof(file->path))
		file->path[0] = '\0';
}

static void set_build_id_path(struct debugfile *file, const u8 *id, u8 bytes)
{
	char hex[2 * BUILD_ID_MAX + 1] = "";

	for (u8 i = 0; i < bytes; i++)
		(void)snprintf(hex + 2 * i, 3, "%02x", id[i]);
	set_path(file, DEBUG_DIR "/.build-id/%.2s/%s.debug", hex, hex + (bytes ? 2 : 0));
}

/* Opens file->path and reads what it is. */
static bool open_file(struct reader *reader, struct debugfile *file)
{
	if (!file->path[0])
		return false;
	file->fd = root_file_open(file->root_fd, file->path);
	if (file->fd >= 0 && reader_identify(reader, file->fd, &file->info) == 0)
		return true;
	closep(&file->fd);
	file->fd = -1;
	return false;
}

/* Whether file->path is the debug file of the program; leaves it open if so. */
static bool try_file(struct reader *reader, const struct debugfile_want *want, struct debugfile *file)
{
	const struct exe_info *info = want->info;

	if (!open_file(reader, file))
		return false;
	if ((file->info.has_symtab || file->info.has_debug_info) && !is_same_file(file->fd, want->fd) &&
	    (info->build_id_bytes ? has_id(&file->info, info->build_id, info->build_id_bytes) :
				    has_crc(file->fd, info->debuglink_crc)))
		return true;
	closep(&file->fd);
	file->fd = -1;
	return false;
}

static bool find_in_root(struct reader *reader, const struct debugfile_want *want, struct debugfile *file)
{
	const char *link = want->info->debuglink, *slash = strrchr(want->path, '/');
	int dir_len = slash ? (int)(slash - want->path) : 0;

	if (want->info->build_id_bytes > 1) {
		set_build_id_path(file, want->info->build_id, want->info->build_id_bytes);
		if (try_file(reader, want, file))
			return true;
	}
	if (!*link || strchr(link, '/') || want->path[0] != '/')
		return false;
	set_path(file, "%.*s/%s", dir_len, want->path, link);
	if (try_file(reader, want, file))
		return true;
	set_path(file, "%.*s/.debug/%s", dir_len, want->path, link);
	if (try_file(reader, want, file))
		return true;
	set_path(file, DEBUG_DIR "%.*s/%s", dir_len, want->path, link);
	return try_file(reader, want, file);
}

int debugfile_find(struct reader *reader, const struct debugfile_want *want, const int *root_fds, u32 root_count,
		   struct debugfile *ret_file)
{
	for (u32 i = 0; i < root_count; i++) {
		struct debugfile file = { .fd = -1, .root_fd = root_fds[i] };

		if (root_fds[i] >= 0 && find_in_root(reader, want, &file)) {
			*ret_file = file;
			return 0;
		}
	}
	return -ENOENT;
}

static bool try_alt(struct reader *reader, const struct exe_info *info, struct debugfile *file)
{
	if (!open_file(reader, file))
		return false;
	if (has_id(&file->info, info->altlink_id, info->altlink_id_bytes))
		return true;
	closep(&file->fd);
	file->fd = -1;
	return false;
}

static bool find_alt_in_root(struct reader *reader, const struct exe_info *info, const char *path,
			     struct debugfile *file)
{
	const char *slash = strrchr(path, '/');

	set_build_id_path(file, info->altlink_id, info->altlink_id_bytes);
	if (try_alt(reader, info, file))
		return true;
	if (info->altlink[0] == '/')
		set_path(file, "%s", info->altlink);
	else
		set_path(file, "%.*s/%s", slash ? (int)(slash - path) : 0, path, info->altlink);
	return try_alt(reader, info, file);
}

int debugfile_find_alt(struct reader *reader, const struct exe_info *info, const char *path, const int *root_fds,
		       u32 root_count)
{
	if (info->altlink_id_bytes < 2)
		return -ENOENT;
	for (u32 i = 0; i < root_count; i++) {
		struct debugfile file = { .fd = -1, .root_fd = root_fds[i] };

		if (root_fds[i] >= 0 && find_alt_in_root(reader, info, path, &file))
			return file.fd;
	}
	return -ENOENT;
}
