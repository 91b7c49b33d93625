// SPDX-License-Identifier: Apache-2.0
#include "proc/host_identity.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

static void read_line(const char *root, const char *path, char *line, size_t bytes)
{
	_cleanup_(closep) int fd = -1;
	char full[PATH_MAX];
	ssize_t len;

	snprintf(full, sizeof(full), "%s/%s", root, path);
	fd = open(full, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	len = fd < 0 ? 0 : read(fd, line, bytes - 1);
	line[len > 0 ? len : 0] = '\0';
	line[strcspn(line, " \t\r\n")] = '\0';
}

void host_identity_read(const char *root, struct host_identity *ret_identity)
{
	struct host_identity id = { 0 };

	if (gethostname(id.name, sizeof(id.name) - 1) < 0)
		id.name[0] = '\0';
	read_line(root, "etc/machine-id", id.id, sizeof(id.id));
	/* While the system starts it says "uninitialized". */
	if (!id.id[0] || !strcmp(id.id, "uninitialized"))
		read_line(root, "var/lib/dbus/machine-id", id.id, sizeof(id.id));
	*ret_identity = id;
}
