/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The privileged half: runs the agent and hands each window to the service that is attached. While there is none, or
 * it does not read, the newest SAMPLING_KEPT windows wait for the next one. It ends by SIGTERM, with what it has
 * sampled until then, or when the supervisor is gone.
 *
 * From the network it gets nothing, from the service a time (halves/channel.h), and that at most ten times a second.
 */
#ifndef HALVES_SAMPLING_H
#define HALVES_SAMPLING_H

#include <stdbool.h>

struct agent_options;
struct buf;

#define SAMPLING_KEPT 4

/*
 * In a process of its own, signals blocked. confine() gives up what sampling does not need. ends_when_left: with the
 * first connection, instead of waiting for another. The exit status.
 */
int sampling_main(struct agent_options *options, bool ends_when_left, int control_fd, int (*confine)(struct buf *why));

#endif
