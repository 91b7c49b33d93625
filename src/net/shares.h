/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each caller has of the server: connections, open requests, bytes of bodies, resets. One caller alone may have
 * much of it, but never all: others find room, and when connections run out it is the greediest who loses one.
 *
 * A fixed table by a seeded hash of the caller's key: it outlives connections, so that who comes again is still known,
 * and cannot grow. Callers that meet share one. All of it belongs to the loop's thread.
 */
#ifndef NET_SHARES_H
#define NET_SHARES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/types.h"

#define SHARES 1024

/* Streams that end before their answer (rapid reset, CVE-2023-44487): so many at once, and so many a second. */
#define SHARE_RESETS_BURST 200
#define SHARE_RESETS_PER_SECOND 33

struct share {
	u32 connections, exchanges;
	size_t body_bytes;
	double resets_spent;
	u64 resets_ns;		/* when that was true */
};

struct shares {
	u64 seed;
	struct share at[SHARES];
};

void shares_init(struct shares *shares);
struct share *shares_of(struct shares *shares, u64 key);
struct share *shares_greediest(struct shares *shares);		/* by connections */

/* One more reset; false if there were too many. */
bool share_reset(struct share *share, u64 now_ns);

#endif
