// SPDX-License-Identifier: Apache-2.0
/* Ticks of each CPU's clock: who runs, and for how long. */
#include <linux/perf_event.h>

#include "abi.h"
#include "kinds/cpu/cpu.skel.h"
#include "kinds/kind.h"

extern const struct kind cpu_kind;

/* Where there is a PMU it looks into parts of the kernel that hold off the timer, too. */
static const struct kind_event events[] = {
	{ "cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
	{ "cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK },
	{ "clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK },
	{ 0 },
};

static const void *object(size_t *ret_bytes)
{
	return cpu_bpf__elf_bytes(ret_bytes);
}

const struct kind cpu_kind = {
	.name = "cpu",
	.title = "CPU time",
	.sample = { "samples", "count" },
	.period = { "cpu", "nanoseconds" },
	.pyroscope = "process_cpu",
	.datadog = "cpu-samples",
	.datadog_period = "cpu-time",
	.perf_type = PERF_TYPE_SOFTWARE,
	.perf_config = PERF_COUNT_SW_CPU_CLOCK,
	.events = events,
	.object = object,
};
