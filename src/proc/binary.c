// SPDX-License-Identifier: Apache-2.0
#include "proc/binary.h"

#include <stdlib.h>
#include <string.h>

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
