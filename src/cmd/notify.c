// SPDX-License-Identifier: Apache-2.0
#include "cmd/notify.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/systemd.h"

#define MESSAGE_MAX (NOTIFY_STATUS_MAX + 128)
#define BEATS 4		/* in the time that the watchdog gives */

static int open_socket(struct notify *notify)
{
	const struct timeval most = { .tv_sec = 1 };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof(most));
	if (connect(fd, (const void *)&notify->address, notify->bytes) < 0) {
		int r = -errno;

		close(fd);
		return r;
	}
	return fd;
}

void notify_open(struct notify *notify)
{
	int r;

	*notify = (struct notify){ .fd = -1 };
	notify->watchdog_ns = systemd_watchdog_ns(getenv("WATCHDOG_USEC"), getenv("WATCHDOG_PID"), getpid());
	r = systemd_notify_address(getenv("NOTIFY_SOCKET"), &notify->address, &notify->bytes);
	if (r == -ENOENT)
		r = 0;		/* nobody wants to know */
	else if (r == 0)
		r = notify->fd = open_socket(notify);
	if (r < 0)
		log_warn("service", "systemd cannot be told how wick is: NOTIFY_SOCKET: %s", strerror(-r));
	notify->fd = r < 0 ? -1 : notify->fd;
	(void)unsetenv("NOTIFY_SOCKET");
	(void)unsetenv("WATCHDOG_USEC");
	(void)unsetenv("WATCHDOG_PID");
}

void notify_close(struct notify *notify)
{
	closep(&notify->fd);
	notify->fd = -1;
}

u64 notify_beat_ns(const struct notify *notify)
{
	return notify->watchdog_ns / BEATS;
}

/* A manager that was replaced listens anew: the socket is connected once more. */
static void put(const struct notify *notify, const char *message, int flags)
{
	ssize_t sent = notify->fd < 0 ? 0 : send(notify->fd, message, strlen(message), MSG_NOSIGNAL | flags);

	if (sent < 0 && (errno == ECONNREFUSED || errno == ENOTCONN || errno == ECONNRESET) &&
	    connect(notify->fd, (const void *)&notify->address, notify->bytes) == 0)
		sent = send(notify->fd, message, strlen(message), MSG_NOSIGNAL | flags);
	if (sent < 0 && !(flags & MSG_DONTWAIT))
		log_warn("service", "systemd cannot be told how wick is: %s", strerror(errno));
}

static void say(const struct notify *notify, const char *state, u64 monotonic_usec, const char *status)
{
	char message[MESSAGE_MAX];
	int len;

	if (monotonic_usec)
		len = snprintf(message, sizeof(message), "%s\nMONOTONIC_USEC=%llu\nSTATUS=", state,
			       (unsigned long long)monotonic_usec);
	else
		len = snprintf(message, sizeof(message), "%s%sSTATUS=", state, *state ? "\n" : "");
	/* A line is an assignment: what is said must not make another. */
	for (; *status && len < (int)sizeof(message) - 1; status++)
		message[len++] = (unsigned char)*status < ' ' || *status == 0x7f ? ' ' : *status;
	message[len] = '\0';
	put(notify, message, 0);
}

void notify_say(const struct notify *notify, const char *state, const char *status)
{
	say(notify, state, 0, status);
}

void notify_reloading(const struct notify *notify, const char *status)
{
	say(notify, "RELOADING=1", monotonic_ns() / 1000, status);
}

void notify_watchdog(const struct notify *notify)
{
	put(notify, "WATCHDOG=1", MSG_DONTWAIT);
}

void notify_hand_over(const struct notify *notify)
{
	char text[32];

	if (!notify->watchdog_ns)
		return;
	snprintf(text, sizeof(text), "%llu", (unsigned long long)(notify->watchdog_ns / 1000));
	(void)setenv("WATCHDOG_USEC", text, 1);
	snprintf(text, sizeof(text), "%d", (int)getpid());
	(void)setenv("WATCHDOG_PID", text, 1);
}
