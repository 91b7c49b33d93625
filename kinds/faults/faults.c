// SPDX-License-Identifier: Apache-2.0
/* Page faults: who makes a process's memory grow, or reads files that are mapped for the first time. */
#include <linux/perf_event.h>

#include "abi.h"
#include "kinds/faults/faults.skel.h"
#include "kinds/kind.h"

extern const struct kind faults_kind;

static const struct kind_event events[] = {
	{ "page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS },
	{ 0 },
};

static const void *object(size_t *ret_bytes)
{
	return faults_bpf__elf_bytes(ret_bytes);
}

const struct kind faults_kind = {
	.name = "faults",
	.title = "page faults",
	.sample = { "page-faults", "count" },
	.period = { "page-faults", "count" },
	.perf_type = PERF_TYPE_SOFTWARE,
	.perf_config = PERF_COUNT_SW_PAGE_FAULTS,
	.events = events,
	.events_per_sample = 1,
	.object = object,
};
