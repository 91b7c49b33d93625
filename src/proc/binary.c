// SPDX-License-Identifier: Apache-2.0
#include "proc/binary.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

u64 file_identity(int fd)
{
	struct statx stat = { 0 };
	u64 facts[6];

	/* Without asking whoever serves it. */
	if (fd < 0 || statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC,
			    STATX_INO | STATX_UID | STATX_SIZE | STATX_CTIME, &stat) < 0)
		return 0;
	facts[0] = stat.stx_ino;
	facts[1] = stat.stx_uid;
	facts[2] = stat.stx_size;
	facts[3] = (u64)stat.stx_ctime.tv_sec;
	facts[4] = stat.stx_ctime.tv_nsec;
	facts[5] = stat.stx_mode & S_IFMT;
	return XXH3_64bits(facts, sizeof(facts));
}

struct binary *binary_new(int fd, int root_fd, const char *path, const struct exe_info *info)
{
	struct binary *binary = calloc(1, sizeof(*binary));

	if (binary)
		binary->path = strdup(path);
	if (!binary || !binary->path) {
		free(binary);
		return NULL;
	}
	atomic_init(&binary->refs, 1);
	binary->fd = fd;
	binary->root_fd = root_fd;
	binary->info = *info;
	return binary;
}

struct binary *binary_ref(struct binary *binary)
{
	atomic_fetch_add_explicit(&binary->refs, 1, memory_order_relaxed);
	return binary;
}

void binary_unref(struct binary *binary)
{
	if (!binary || atomic_fetch_sub_explicit(&binary->refs, 1, memory_order_acq_rel) != 1)
		return;
	closep(&binary->fd);
	closep(&binary->root_fd);
	free(binary->path);
	free(binary);
}

const char *binary_name(const struct binary *binary)
{
	const char *slash = binary->path ? strrchr(binary->path, '/') : NULL;

	return slash ? slash + 1 : binary->path ? binary->path : "";
}
