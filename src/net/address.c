// SPDX-License-Identifier: Apache-2.0
#include "net/address.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/cleanup.h"
#include "net/passed.h"

#define BACKLOG 1024

DEFINE_CLEANUP(struct addrinfo *, freeaddrinfo)

/* ---- Who has it ------------------------------------------------------------------------- */

/* The inode of a socket that listens on a port, 0 if there is none. */
static unsigned long find_listening(const char *table, unsigned port)
{
	FILE *file = fopen(table, "re");
	unsigned long found = 0;
	char line[512];

	if (!file)
		return 0;
	while (!found && fgets(line, sizeof(line), file)) {
		unsigned local_port, state;
		unsigned long inode;

		if (sscanf(line, " %*d: %*[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%*x %x %*x:%*x %*x:%*x %*x %*u %*u %lu",
			   &local_port, &state, &inode) == 3 && local_port == port && state == TCP_LISTEN)
			found = inode;
	}
	fclose(file);
	return found;
}

/* Whether a process has a descriptor that reads so. */
static bool has_descriptor(const char *pid, const char *want)
{
	char path[300], target[64];
	struct dirent *entry;
	bool found = false;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%s/fd", pid);
	dir = opendir(path);
	if (!dir)
		return false;
	while (!found && (entry = readdir(dir))) {
		ssize_t len = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1);

		target[len > 0 ? len : 0] = '\0';
		found = !strcmp(target, want);
	}
	closedir(dir);
	return found;
}

void address_tell_owner(unsigned port, struct buf *why)
{
	unsigned long inode = find_listening("/proc/net/tcp", port);
	char want[64], path[300], name[64] = "";
	struct dirent *entry;
	DIR *dir;

	if (!inode)
		inode = find_listening("/proc/net/tcp6", port);
	dir = inode ? opendir("/proc") : NULL;
	if (!dir)
		return;
	snprintf(want, sizeof(want), "socket:[%lu]", inode);
	while ((entry = readdir(dir))) {
		FILE *file;

		if (!isdigit((unsigned char)entry->d_name[0]) || !has_descriptor(entry->d_name, want))
			continue;
		if (strtol(entry->d_name, NULL, 10) == getpid()) {
			buf_addf(why, " by another endpoint of this configuration; choose another port, or write both "
				 "endpoints alike to share it");
			break;
		}
		snprintf(path, sizeof(path), "/proc/%s/comm", entry->d_name);
		file = fopen(path, "re");
		if (file) {
			if (fgets(name, sizeof(name), file))
				name[strcspn(name, "\n")] = '\0';
			fclose(file);
		}
		buf_addf(why, ": process %s (%s) has it; stop it, or choose another port", entry->d_name, name);
		break;
	}
	closedir(dir);
}

/* ---- Text ---------------------------------------------------------------------------------- */

void address_text(const struct sockaddr_storage *address, socklen_t bytes, char *text, size_t text_bytes)
{
	char host[INET6_ADDRSTRLEN] = "";

	if (address->ss_family == AF_INET) {
		const struct sockaddr_in *in = (const void *)address;

		inet_ntop(AF_INET, &in->sin_addr, host, sizeof(host));
		snprintf(text, text_bytes, "%s:%u", host, ntohs(in->sin_port));
	} else if (address->ss_family == AF_INET6) {
		const struct sockaddr_in6 *in6 = (const void *)address;
		bool mapped = IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr);

		/* An IPv4 peer of a socket for both. */
		if (mapped)
			inet_ntop(AF_INET, &in6->sin6_addr.s6_addr[12], host, sizeof(host));
		else
			inet_ntop(AF_INET6, &in6->sin6_addr, host, sizeof(host));
		snprintf(text, text_bytes, mapped ? "%s:%u" : "[%s]:%u", host, ntohs(in6->sin6_port));
	} else if (address->ss_family == AF_UNIX && bytes > offsetof(struct sockaddr_un, sun_path)) {
		const struct sockaddr_un *un = (const void *)address;

		snprintf(text, text_bytes, "%.*s", (int)sizeof(un->sun_path), un->sun_path);
	} else {
		snprintf(text, text_bytes, "unix");
	}
}

/* ---- Unix sockets ----------------------------------------------------------------------------- */

/* Whether the path is a socket that nobody answers at: left over by a process that was killed. */
static bool is_stale(const struct sockaddr_un *address)
{
	_cleanup_(closep) int fd = -1;
	struct stat st;

	if (lstat(address->sun_path, &st) < 0 || !S_ISSOCK(st.st_mode))
		return false;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	return fd >= 0 && connect(fd, (const void *)address, sizeof(*address)) < 0 && errno == ECONNREFUSED;
}

static int listen_unix(const char *path, struct passed *passed, struct buf *why)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	_cleanup_(closep) int fd = -1;
	int r = 0;

	if (!*path || strlen(path) >= sizeof(address.sun_path)) {
		buf_addf(why, "the path of a unix socket has 1 to %zu characters: %s", sizeof(address.sun_path) - 1,
			 path);
		return -EINVAL;
	}
	memcpy(address.sun_path, path, strlen(path));
	r = passed_take(passed, &address, sizeof(address));
	if (r != -ENOENT)
		return r;
	r = 0;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		r = -errno;
	if (r == 0 && is_stale(&address))
		(void)unlink(path);
	if (r == 0 && (bind(fd, (void *)&address, sizeof(address)) < 0 || listen(fd, BACKLOG) < 0))
		r = -errno;
	if (r < 0) {
		buf_addf(why, "cannot listen on %s: %s", path, strerror(-r));
		return r;
	}
	r = fd;
	fd = -1;
	return r;
}

/* ---- TCP --------------------------------------------------------------------------------------- */

static int open_one(const struct addrinfo *info, struct passed *passed, bool *ret_is_passed)
{
	int fd = passed_take(passed, info->ai_addr, info->ai_addrlen);

	*ret_is_passed = fd >= 0;
	if (fd == -ENOENT)
		fd = socket(info->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	return fd;
}

static int listen_one(const struct addrinfo *info, struct passed *passed)
{
	bool is_passed;
	_cleanup_(closep) int fd = open_one(info, passed, &is_passed);
	int on = 1, off = 0, r;
	const struct sockaddr_in6 *in6 = (const void *)info->ai_addr;
	bool any6 = info->ai_family == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&in6->sin6_addr);

	if (fd < 0)
		return -errno;
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	/* [::] takes IPv4 too, as Go's does; ::1 is by itself. */
	if (info->ai_family == AF_INET6 && !is_passed)
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, any6 ? &off : &on, sizeof(on));
	if (!is_passed && (bind(fd, info->ai_addr, info->ai_addrlen) < 0 || listen(fd, BACKLOG) < 0))
		return -errno;
	r = fd;
	fd = -1;
	return r;
}

/* "[::1]:80" into "::1" and "80"; the host of ":80" is "". */
static int split(const char *endpoint, char *host, size_t host_bytes, const char **ret_port)
{
	const char *colon = strrchr(endpoint, ':'), *from = endpoint;
	size_t len;

	if (!colon || !colon[1] || strspn(colon + 1, "0123456789") != strlen(colon + 1) || strlen(colon + 1) > 5 ||
	    strtoul(colon + 1, NULL, 10) > 65535)
		return -EINVAL;
	len = (size_t)(colon - endpoint);
	if (len >= 2 && endpoint[0] == '[' && colon[-1] == ']') {
		from++;
		len -= 2;
	} else if (memchr(endpoint, ':', len)) {
		return -EINVAL;
	}
	if (len >= host_bytes)
		return -EINVAL;
	memcpy(host, from, len);
	host[len] = '\0';
	*ret_port = colon + 1;
	return 0;
}

bool address_is_valid(const char *endpoint)
{
	const char *port;
	char host[256];

	return split(endpoint, host, sizeof(host), &port) == 0;
}

static int tell_failure(const char *endpoint, const char *port, int error, struct buf *why)
{
	buf_addf(why, "cannot listen on %s: %s", endpoint, error == -EADDRINUSE ? "the address is in use" :
		 strerror(-error));
	if (error == -EADDRINUSE)
		address_tell_owner((unsigned)strtoul(port, NULL, 10), why);
	if (error == -EACCES)
		buf_addf(why, ": ports below 1024 need CAP_NET_BIND_SERVICE");
	return error;
}

static int resolve(const char *endpoint, const char *host, const char *port, struct addrinfo **ret_list,
		   struct buf *why)
{
	struct addrinfo hints = { .ai_flags = AI_PASSIVE | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM };
	int r = getaddrinfo(*host ? host : "::", port, &hints, ret_list);

	if (r && !*host)
		r = getaddrinfo("0.0.0.0", port, &hints, ret_list);
	if (r == 0)
		return 0;
	buf_addf(why, "cannot listen on %s: %s", endpoint, gai_strerror(r));
	return r == EAI_MEMORY ? -ENOMEM : -EADDRNOTAVAIL;
}

static int listen_host(const char *endpoint, const char *host, const char *port, struct passed *passed,
		       struct buf *why)
{
	_cleanup_(freeaddrinfop) struct addrinfo *list = NULL;
	int r = resolve(endpoint, host, port, &list, why);

	if (r < 0)
		return r;
	r = listen_one(list, passed);
	/* A machine without IPv6 has no "::". */
	if (r == -EAFNOSUPPORT && !*host)
		return listen_host(endpoint, "0.0.0.0", port, passed, why);
	return r < 0 ? tell_failure(endpoint, port, r, why) : r;
}

/* ::1 beside 127.0.0.1, on the port that that one got; a machine without IPv6 does without. */
static int listen_localhost(const char *endpoint, const char *port, struct passed *passed,
			    int fds[ADDRESS_SOCKETS_MAX], struct buf *why)
{
	struct sockaddr_in in = { 0 };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	struct addrinfo info = { .ai_family = AF_INET6, .ai_addr = (void *)&in6, .ai_addrlen = sizeof(in6) };
	socklen_t bytes = sizeof(in);

	fds[0] = listen_host(endpoint, "127.0.0.1", port, passed, why);
	if (fds[0] < 0)
		return fds[0];
	if (getsockname(fds[0], (void *)&in, &bytes) < 0)
		return 1;
	in6.sin6_port = in.sin_port;
	fds[1] = listen_one(&info, passed);
	/* Another's port on ::1 would get what is meant for us. */
	if (fds[1] == -EADDRINUSE && strcmp(port, "0")) {
		close(fds[0]);
		return tell_failure("[::1]", port, -EADDRINUSE, why);
	}
	return fds[1] < 0 ? 1 : 2;
}

int address_listen(const char *endpoint, bool unix_socket, struct passed *passed, int fds[ADDRESS_SOCKETS_MAX],
		   struct buf *why)
{
	const char *port;
	char host[256];

	if (unix_socket) {
		fds[0] = listen_unix(endpoint, passed, why);
		return fds[0] < 0 ? fds[0] : 1;
	}
	if (split(endpoint, host, sizeof(host), &port) < 0) {
		buf_addf(why, "\"%s\" is no endpoint; write host:port, such as localhost:4317 or [::1]:4317", endpoint);
		return -EINVAL;
	}
	if (!strcmp(host, "localhost"))
		return listen_localhost(endpoint, port, passed, fds, why);
	fds[0] = listen_host(endpoint, host, port, passed, why);
	return fds[0] < 0 ? fds[0] : 1;
}
