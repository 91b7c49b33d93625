// SPDX-License-Identifier: Apache-2.0
#include "net/passed.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

#include "base/cleanup.h"

static int option(int fd, int name)
{
	int value = 0;
	socklen_t bytes = sizeof(value);

	return getsockopt(fd, SOL_SOCKET, name, &value, &bytes) < 0 ? -errno : value;
}

/* 0, and where it listens. */
static int check(int fd, struct passed_socket *ret_socket)
{
	int type = option(fd, SO_TYPE);

	if (type < 0)
		return type;
	ret_socket->bytes = sizeof(ret_socket->address);
	if (type != SOCK_STREAM || option(fd, SO_ACCEPTCONN) != 1 ||
	    getsockname(fd, (void *)&ret_socket->address, &ret_socket->bytes) < 0)
		return -EPROTOTYPE;
	if (ret_socket->address.ss_family == AF_UNIX)
		return ret_socket->bytes > offsetof(struct sockaddr_un, sun_path) + 1 ? 0 : -EPROTOTYPE;
	return ret_socket->address.ss_family == AF_INET || ret_socket->address.ss_family == AF_INET6 ? 0 : -EPROTOTYPE;
}

int passed_add(struct passed *passed, int fd, int low_fd, const char *name)
{
	struct passed_socket *socket = &passed->at[passed->count];
	_cleanup_(closep) int original = fd;
	int r;

	if (passed->count == SYSTEMD_SOCKETS_MAX)
		return -EMFILE;
	*socket = (struct passed_socket){ .fd = -1 };
	r = check(fd, socket);
	if (r < 0)
		return r;
	socket->fd = fcntl(fd, F_DUPFD_CLOEXEC, low_fd);
	if (socket->fd < 0)
		return -errno;
	/* As those that wick opens itself: nobody waits in accept(). */
	(void)fcntl(socket->fd, F_SETFL, fcntl(socket->fd, F_GETFL) | O_NONBLOCK);
	(void)snprintf(socket->name, sizeof(socket->name), "%s", name);
	passed->count++;
	return 0;
}

void passed_done(struct passed *passed)
{
	while (passed->count)
		closep(&passed->at[--passed->count].fd);
}

static bool is_path(const struct sockaddr_storage *address, socklen_t bytes, const char *path)
{
	const struct sockaddr_un *un = (const void *)address;
	size_t before = offsetof(struct sockaddr_un, sun_path);
	size_t len = bytes > before ? strnlen(un->sun_path, bytes - before) : 0;

	return address->ss_family == AF_UNIX && len && len == strlen(path) && !memcmp(un->sun_path, path, len);
}

static bool is_same(const struct passed_socket *socket, const void *address, socklen_t bytes)
{
	const struct sockaddr_in *in = address, *in_here = (const void *)&socket->address;
	const struct sockaddr_in6 *in6 = address, *in6_here = (const void *)&socket->address;
	const struct sockaddr_un *un = address;

	if (socket->address.ss_family != in->sin_family)
		return false;
	if (in->sin_family == AF_INET && bytes >= sizeof(*in))
		return in->sin_port == in_here->sin_port && in->sin_addr.s_addr == in_here->sin_addr.s_addr;
	if (in->sin_family == AF_INET6 && bytes >= sizeof(*in6))
		return in6->sin6_port == in6_here->sin6_port && in6->sin6_scope_id == in6_here->sin6_scope_id &&
		       !memcmp(&in6->sin6_addr, &in6_here->sin6_addr, sizeof(in6->sin6_addr));
	return in->sin_family == AF_UNIX && bytes == sizeof(*un) &&
	       is_path(&socket->address, socket->bytes, un->sun_path);
}

int passed_take(struct passed *passed, const void *address, socklen_t bytes)
{
	for (u32 i = 0; passed && i < passed->count; i++) {
		struct passed_socket *socket = &passed->at[i];
		int fd;

		if (!is_same(socket, address, bytes))
			continue;
		fd = fcntl(socket->fd, F_DUPFD_CLOEXEC, 0);
		if (fd < 0)
			return -errno;
		socket->is_taken = true;
		return fd;
	}
	return -ENOENT;
}

bool passed_has_path(const struct passed *passed, const char *path)
{
	for (u32 i = 0; passed && i < passed->count; i++)
		if (is_path(&passed->at[i].address, passed->at[i].bytes, path))
			return true;
	return false;
}
