// SPDX-License-Identifier: Apache-2.0
#include "extensions/host_metrics.h"

#include "base/buf.h"
#include "base/metrics.h"
#include "test.h"

static double value_of(const char *text, const char *name)
{
	const char *at = text;

	while ((at = strstr(at, name)) && (at != text && at[-1] != '\n'))
		at++;
	if (!at)
		FAIL("there is no %s", name);
	return strtod(at + strlen(name), NULL);
}

TEST(host_metrics_have_the_collectors_names)
{
	_cleanup_(metrics_freep) struct metrics *metrics = metrics_new();
	_cleanup_(host_metrics_freep) struct host_metrics *host = host_metrics_new();
	struct buf text;

	buf_init(&text, 1 << 20);
	EQ(metrics_add_source(metrics, host_metrics_put, host), 0);
	metrics_render(metrics, &text);
	buf_add(&text, "", 1);
	OK(value_of(text.data, "otelcol_process_uptime ") >= 0);
	OK(value_of(text.data, "otelcol_process_uptime ") < 1e6);
	OK(value_of(text.data, "otelcol_process_cpu_seconds ") > 0);
	OK(value_of(text.data, "otelcol_process_memory_rss ") > 1e5);
	/* ASan's heap tells nothing. */
	OK(value_of(text.data, "otelcol_process_runtime_heap_alloc_bytes ") >= 0);
	OK(value_of(text.data, "system_cpu_time{state=\"user\"} ") > 0);
	OK(value_of(text.data, "system_memory_usage{state=\"used\"} ") > 0);
	OK(value_of(text.data, "system_cpu_load_average_15m ") >= 0);
	OK(strstr(text.data, "\nprocess_memory_usage{process_pid=\""));
	metrics_forget_source(metrics, host_metrics_put, host);
	buf_done(&text);
}
