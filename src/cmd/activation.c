// SPDX-License-Identifier: Apache-2.0
#include "cmd/activation.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/systemd.h"
#include "net/address.h"
#include "net/passed.h"

#define LOW_FD 32	/* above all that is handed over */
_Static_assert(LOW_FD > SYSTEMD_FIRST_FD + 1 + SYSTEMD_SOCKETS_MAX, "they are copied without harm to each other");

static const char *const self = "service";

static void take(struct passed *passed, int fd, const char *name)
{
	int r = fcntl(fd, F_GETFD) < 0 ? -EBADF : passed_add(passed, fd, LOW_FD, name);

	if (r < 0)
		log_warn(self, "descriptor %d%s%s, which was passed to listen on, is left out: %s", fd,
			 *name ? " " : "", name, r == -EPROTOTYPE ? "it is no stream socket that listens" :
			 strerror(-r));
}

void activation_claim(struct passed *passed, int first_fd)
{
	struct systemd_sockets sockets;

	systemd_listen_fds(getenv("LISTEN_FDS"), getenv("LISTEN_PID"), getenv("LISTEN_FDNAMES"), getpid(), &sockets);
	(void)unsetenv("LISTEN_FDS");
	(void)unsetenv("LISTEN_PID");
	(void)unsetenv("LISTEN_FDNAMES");
	for (u32 i = 0; i < sockets.count; i++)
		take(passed, first_fd + (int)i, sockets.names[i]);
	if (sockets.left_out)
		log_warn(self, "%u sockets were passed to listen on; the last %u are left out",
			 sockets.count + sockets.left_out, sockets.left_out);
}

int activation_hand_over(const struct passed *passed, int first_fd)
{
	_cleanup_(buf_done) struct buf names;
	char text[32];

	buf_init(&names, SYSTEMD_SOCKETS_MAX * (SYSTEMD_NAME_MAX + 1));
	if (!passed->count)
		return 0;
	for (u32 i = 0; i < passed->count; i++) {
		if (dup2(passed->at[i].fd, first_fd + (int)i) < 0)
			return -errno;
		buf_addf(&names, "%s%s", i ? ":" : "", passed->at[i].name);
	}
	if (buf_err(&names) < 0 || setenv("LISTEN_FDNAMES", names.data, 1) < 0)
		return -ENOMEM;
	snprintf(text, sizeof(text), "%u", passed->count);
	if (setenv("LISTEN_FDS", text, 1) < 0)
		return -ENOMEM;
	snprintf(text, sizeof(text), "%d", (int)getpid());
	return setenv("LISTEN_PID", text, 1) < 0 ? -ENOMEM : 0;
}

void activation_tell_unused(const struct passed *passed)
{
	for (u32 i = 0; i < passed->count; i++) {
		const struct passed_socket *socket = &passed->at[i];
		char address[160];

		if (socket->is_taken)
			continue;
		address_text(&socket->address, socket->bytes, address, sizeof(address));
		log_warn(self, "no endpoint of the configuration is %s%s%s%s, a socket that was passed to listen on: "
			       "who connects to it waits", address, *socket->name ? " (" : "", socket->name,
			 *socket->name ? ")" : "");
	}
}
