/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The privileged half: runs the agent and hands each window to the service that is attached. While there is none, or
 * it does not read, the newest SAMPLING_KEPT windows wait for the next one. It ends by SIGTERM, with what it has
 * sampled until then, or when the supervisor is gone.
 *
 * From the network it gets nothing, from the service a time and boosts (halves/channel.h), and that at most ten times a
 * second. Boosts end with the connection that they came by.
 */
#ifndef HALVES_SAMPLING_H
#define HALVES_SAMPLING_H

#include <stdbool.h>

#include "base/types.h"

struct agent_options;
struct buf;

#define SAMPLING_KEPT 4

struct sampling_options {
	struct agent_options *agent;
	bool ends_when_left;		/* with the first connection, instead of waiting for another */
	int control_fd;			/* of the supervisor */
	u64 beat_ns;			/* how often that hears that both threads go on; 0: not at all */
	int (*confine)(struct buf *why);	/* gives up what sampling does not need */
};

/* In a process of its own, signals blocked. The exit status. */
int sampling_main(const struct sampling_options *options);

#endif
