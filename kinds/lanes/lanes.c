// SPDX-License-Identifier: Apache-2.0
/*
 * All that threads did, without gaps: each sample is a time that a thread ran, waited (`wait.reason`) or wanted a CPU;
 * its time is when that began, its value how long it was. off_cpu's kernel half tells of them (off_cpu/lanes.h).
 */
#include "kinds/kind.h"

extern const struct kind lanes_kind;

static const struct kind_event events[] = {
	{ "thread-lanes", KIND_EVENT_HOOKS, 0 },
	{ 0 },
};

const struct kind lanes_kind = {
	.name = "lanes",
	.title = "lanes of threads",
	.sample = { "lanes", "nanoseconds" },
	.events = events,
	.parts = "off_cpu",
};
