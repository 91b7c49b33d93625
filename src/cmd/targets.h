/* SPDX-License-Identifier: Apache-2.0 */
/* The processes of `wick record -p`: a recording of them ends when the last of them has. */
#ifndef CMD_TARGETS_H
#define CMD_TARGETS_H

#include <stdbool.h>

#include "cmd/options.h"

struct targets {
	u32 count;
	int fds[OPTION_NUMBERS_MAX];	/* pidfds; -1: it has ended */
	bool is_unknown;		/* what one of them does cannot be told: they never end */
};

void targets_init(struct targets *targets, const struct option_numbers *pids);
void targets_done(struct targets *targets);

/* True once there were some and all have ended. Does not wait. */
bool targets_ended(struct targets *targets);

#endif
