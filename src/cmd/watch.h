/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the supervisor tells systemd of its parts (cmd/notify.h): that all is ready, what is the matter in words, and,
 * where it is watched, that it goes on. It does not say so for a part that does not show that it goes on: then systemd
 * ends all of it and starts it again. What a part shows that by is in docs/systemd.md.
 */
#ifndef CMD_WATCH_H
#define CMD_WATCH_H

#include <stdbool.h>

#include "base/types.h"

struct notify;

struct watch_part {
	const char *name;	/* "the service" */
	u64 alive_ns;		/* when it last was seen to go on; 0: it was not started yet */
	bool is_ready;
	const char *failure;	/* NULL, or why it cannot start: that is known, and not waited for */
};

struct watch_state {
	u64 now_ns;
	bool is_ready;		/* everything has started once */
	bool is_reloading, is_stopping;
	bool is_stale;		/* the newest configuration was refused */
	u64 patience_ns;	/* for a part while it loads the configuration again, beside the usual */
	const struct watch_part *parts;
	u32 part_count;
};

/* Whenever something may have changed, and when it is due. */
void watch_tell(struct notify *notify, const struct watch_state *state);

/* When it is due next; UINT64_MAX: whenever something has changed. */
u64 watch_due_ns(const struct notify *notify);

#endif
