// SPDX-License-Identifier: Apache-2.0
/* All of the time of threads: samples of the two kinds that it is made of, in nanoseconds. */
#include "kinds/kind.h"

extern const struct kind wall_kind;

static const struct kind_event events[] = {
	{ "wall-clock", KIND_EVENT_HOOKS, 0 },
	{ 0 },
};

const struct kind wall_kind = {
	.name = "wall",
	.title = "wall time",
	.sample = { "wall", "nanoseconds" },
	.events = events,
	.parts = "cpu,off_cpu",
};
