/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Browsers that have shown the token: each has a cookie of its own, which is random, not the token, and good until it
 * is signed out, for SESSION_NS, or as long as this process runs. When there are too many the one that came longest ago
 * goes. Any thread may call it.
 */
#ifndef WEB_SESSIONS_H
#define WEB_SESSIONS_H

#include <pthread.h>
#include <stdbool.h>

#include "base/clock.h"
#include "base/types.h"

#define SESSIONS_MAX 256
#define SESSION_BYTES 33		/* hexadecimal digits and a NUL */
#define SESSION_NS (30 * 86400 * SECOND_NS)

struct sessions {
	pthread_mutex_t lock;
	struct session {
		char id[SESSION_BYTES];	/* "": free */
		u64 begin_ns;		/* CLOCK_MONOTONIC */
	} at[SESSIONS_MAX];
};

void sessions_init(struct sessions *sessions);
void sessions_done(struct sessions *sessions);

/* -EAGAIN: the system has no random numbers. */
int sessions_begin(struct sessions *sessions, u64 now_ns, char ret_id[SESSION_BYTES]);

/* In time that does not depend on where ids differ. */
bool sessions_has(struct sessions *sessions, const char *id, u64 now_ns);
void sessions_end(struct sessions *sessions, const char *id);

#endif
