// SPDX-License-Identifier: Apache-2.0
#include "store/uploads.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "base/hex.h"
#include "base/io.h"
#include "base/private_dir.h"
#include "symbol/file_cache.h"

const char *uploads_path(const char *store_directory, char out[4096])
{
	(void)snprintf(out, 4096, "%s/symbols", store_directory);
	return out;
}

static int open_directory(const char *store_directory)
{
	char path[4096];

	return private_dir_open(AT_FDCWD, uploads_path(store_directory, path), NULL);
}

static void write_id(const struct exe_info *info, char id[UPLOADS_ID_MAX])
{
	const u8 *bytes = info->build_id_bytes ? info->build_id : info->htlhash;
	u32 count = info->build_id_bytes ? info->build_id_bytes : (u32)sizeof(info->htlhash);

	hex_write(bytes, count, id);
	id[2 * count] = '\0';
}

/* Written aside, looked at, and only then put in its place. */
static int take(int dir_fd, const char *part, struct reader *reader, const void *at, size_t bytes,
		struct upload *upload)
{
	int r = io_write_all(upload->fd, at, bytes);

	if (r == 0)
		r = reader_identify(reader, upload->fd, &upload->info);
	if (r < 0)
		return r;
	write_id(&upload->info, upload->id);
	return renameat(dir_fd, part, dir_fd, upload->id) < 0 ? -errno : 0;
}

int uploads_add(const char *store_directory, struct reader *reader, const void *at, size_t bytes,
		struct upload *ret_upload)
{
	static atomic_uint number;
	_cleanup_(closep) int dir_fd = open_directory(store_directory);
	struct upload upload = { .fd = -1 };
	char part[64];
	int r;

	if (dir_fd < 0)
		return dir_fd;
	(void)snprintf(part, sizeof(part), "new.part-%d-%u", (int)getpid(), atomic_fetch_add(&number, 1));
	upload.fd = openat(dir_fd, part, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (upload.fd < 0)
		return -errno;
	r = take(dir_fd, part, reader, at, bytes, &upload);
	if (r < 0) {
		(void)unlinkat(dir_fd, part, 0);
		close(upload.fd);
		return r;
	}
	upload.dropped = file_cache_prune(dir_fd, UPLOADS_BYTES_MAX);
	*ret_upload = upload;
	return 0;
}
