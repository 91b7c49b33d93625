/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells systemd how this process is: one datagram to $NOTIFY_SOCKET for each change, and one each quarter of
 * $WATCHDOG_USEC while all goes on (sd_notify(3), without its library). Only the process that systemd started speaks,
 * which is the supervisor where there is one: its children get neither the socket nor the variables.
 *
 * The socket is connected at once, before rights are given up. Any thread may send; nobody waits longer than a second.
 */
#ifndef CMD_NOTIFY_H
#define CMD_NOTIFY_H

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/types.h"

#define NOTIFY_STATUS_MAX 256

struct notify {
	int fd;				/* -1: nobody wants to know */
	struct sockaddr_un address;
	socklen_t bytes;
	u64 watchdog_ns;		/* 0: nobody watches */
	/* cmd/watch.c */
	char status[NOTIFY_STATUS_MAX];	/* that was told last */
	bool is_ready, is_reloading, is_stopping;	/* likewise */
	u64 due_ns;			/* when the watchdog is to be told next */
};

/* From the environment, which loses these variables. */
void notify_open(struct notify *notify);
void notify_close(struct notify *notify);

/* How often somebody has to show that he goes on; 0: nobody watches. */
u64 notify_beat_ns(const struct notify *notify);

/* state: "READY=1" and alike, or "" for the status alone. The status is a sentence for people, cut where it is long. */
void notify_say(const struct notify *notify, const char *state, const char *status);

/* RELOADING=1, with the time that systemd wants to know with it. */
void notify_reloading(const struct notify *notify, const char *status);

/* Never waits. */
void notify_watchdog(const struct notify *notify);

/* In a child that is about to be another program: it shows its parent that it goes on, as often. */
void notify_hand_over(const struct notify *notify);

#endif
