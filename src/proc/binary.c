// SPDX-License-Identifier: Apache-2.0
#include "proc/binary.h"

#include <stdlib.h>
#include <string.h>

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
