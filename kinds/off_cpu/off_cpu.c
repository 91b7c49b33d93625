// SPDX-License-Identifier: Apache-2.0
/* Waits: how long threads did not run, and where they stood. */
#include "abi.h"
#include "kinds/kind.h"
#include "kinds/off_cpu/off_cpu.skel.h"

extern const struct kind off_cpu_kind;

static const struct kind_event events[] = {
	{ "waits", KIND_EVENT_HOOKS, 0 },
	{ 0 },
};

static const void *object(size_t *ret_bytes)
{
	return off_cpu_bpf__elf_bytes(ret_bytes);
}

const struct kind off_cpu_kind = {
	.name = "off_cpu",
	.title = "time off CPU",
	.sample = { "off_cpu", "nanoseconds" },
	.events = events,
	.object = object,
};
