// SPDX-License-Identifier: Apache-2.0
/* Ticks of each CPU's clock: who runs, and for how long. */
#include <linux/perf_event.h>

#include "kinds/kind.h"

extern const struct kind cpu_kind;

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
};
