// SPDX-License-Identifier: Apache-2.0
#include "base/systemd.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

#include "base/str.h"

#define DIGITS_MAX 19	/* whatever they are, they fit */
#define LISTEN_FDS_MAX 4096

/* Digits and nothing else. */
static bool read_number(struct str text, u64 *ret_number)
{
	u64 number = 0;

	if (!text.len || text.len > DIGITS_MAX)
		return false;
	for (u32 i = 0; i < text.len; i++) {
		if (text.at[i] < '0' || text.at[i] > '9')
			return false;
		number = number * 10 + (u64)(text.at[i] - '0');
	}
	*ret_number = number;
	return true;
}

/* A text of any length, of which more than a number has is none. */
static struct str bounded(const char *text, size_t max)
{
	return (struct str){ text, text ? (u32)strnlen(text, max + 1) : 0 };
}

static bool is_number(const char *text, u64 *ret_number)
{
	return read_number(bounded(text, DIGITS_MAX), ret_number);
}

int systemd_notify_address(const char *text, struct sockaddr_un *ret_address, socklen_t *ret_bytes)
{
	size_t len = text ? strnlen(text, sizeof(ret_address->sun_path)) : 0;

	if (!len)
		return -ENOENT;
	if ((text[0] != '/' && text[0] != '@') || len < 2 || len >= sizeof(ret_address->sun_path))
		return -EINVAL;
	*ret_address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	memcpy(ret_address->sun_path, text, len);
	/* An abstract name is as long as it is said to be, a path ends with its 0. */
	*ret_bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + (text[0] == '/'));
	if (text[0] == '@')
		ret_address->sun_path[0] = '\0';
	return 0;
}

u64 systemd_watchdog_ns(const char *usec, const char *pid, pid_t self)
{
	u64 value, whose;

	if (pid && (!is_number(pid, &whose) || whose != (u64)self))
		return 0;
	if (!is_number(usec, &value) || !value)
		return 0;
	if (value > SYSTEMD_WATCHDOG_MAX_NS / 1000)
		return SYSTEMD_WATCHDOG_MAX_NS;
	return value * 1000 < SYSTEMD_WATCHDOG_MIN_NS ? SYSTEMD_WATCHDOG_MIN_NS : value * 1000;
}

/* A name goes into the log: letters, digits and what stands in names of units. */
static void keep_name(struct str name, char ret_name[SYSTEMD_NAME_MAX])
{
	if (name.len >= SYSTEMD_NAME_MAX)
		return;
	for (u32 i = 0; i < name.len; i++)
		if (name.at[i] <= ' ' || name.at[i] > '~')
			return;
	if (name.len)
		memcpy(ret_name, name.at, name.len);
}

void systemd_listen_fds(const char *fds, const char *pid, const char *names, pid_t self,
			struct systemd_sockets *ret_sockets)
{
	struct str rest = bounded(names, SYSTEMD_SOCKETS_MAX * SYSTEMD_NAME_MAX), name;
	u64 count, whose;

	memset(ret_sockets, 0, sizeof(*ret_sockets));
	if (!is_number(pid, &whose) || whose != (u64)self || !is_number(fds, &count) || count > LISTEN_FDS_MAX)
		return;
	ret_sockets->count = count > SYSTEMD_SOCKETS_MAX ? SYSTEMD_SOCKETS_MAX : (u32)count;
	ret_sockets->left_out = (u32)count - ret_sockets->count;
	for (u32 i = 0; i < ret_sockets->count && str_cut(&rest, ':', &name); i++)
		keep_name(name, ret_sockets->names[i]);
}

bool systemd_is_journal(const char *stream, int fd)
{
	struct str rest = bounded(stream, 2 * DIGITS_MAX + 1), device;
	u64 dev, ino;
	struct stat st;

	return str_cut(&rest, ':', &device) && read_number(device, &dev) && read_number(rest, &ino) &&
	       fstat(fd, &st) == 0 && st.st_dev == dev && st.st_ino == ino;
}
