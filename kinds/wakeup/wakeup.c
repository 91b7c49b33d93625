// SPDX-License-Identifier: Apache-2.0
/* The same time as off_cpu's, but the stack of whoever ended the wait stands on top of the one that waited. */
#include "kinds/kind.h"

extern const struct kind wakeup_kind;

static const struct kind_event events[] = {
	{ "wakeups", KIND_EVENT_HOOKS, 0 },
	{ 0 },
};

const struct kind wakeup_kind = {
	.name = "wakeup",
	.title = "time off CPU, and who ended it",
	.sample = { "wakeup", "nanoseconds" },
	.events = events,
	.parts = "off_cpu",
};
