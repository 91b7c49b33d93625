// SPDX-License-Identifier: Apache-2.0
#include "extensions/host_metrics.h"

#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/utf8.h"
#include "proc/host.h"

#define SAMPLE_NS 1000000000ull
#define STAT_MAX 1024

struct host_metrics {
	struct host_state *state;
	struct host_sample sample;
	u64 tick_ns, page_bytes;
};

struct host_metrics *host_metrics_new(void)
{
	_cleanup_(host_metrics_freep) struct host_metrics *host = calloc(1, sizeof(*host));

	if (!host)
		return NULL;
	host->tick_ns = 1000000000ull / (u64)sysconf(_SC_CLK_TCK);
	host->page_bytes = (u64)sysconf(_SC_PAGESIZE);
	host->state = host_new("/proc");
	if (!host->state)
		return NULL;
	/* The first one knows of no process what it uses. */
	(void)host_sample(host->state, &host->sample);
	return TAKE(host);
}

void host_metrics_free(struct host_metrics *host)
{
	if (!host)
		return;
	host_free(host->state);
	free(host);
}

static void put(struct metrics_out *out, enum metric_kind kind, const char *name, const char *help, double value)
{
	metrics_put(out, kind, name, help, NULL, 0, value);
}

static void put_labelled(struct metrics_out *out, enum metric_kind kind, const char *name, const char *help,
			 const char *key, const char *label, double value)
{
	metrics_put(out, kind, name, help, &(struct metric_label){ key, label }, 1, value);
}

/* ---- This process ------------------------------------------------------------------- */

static bool read_self(const struct host_metrics *host, struct host_process *ret_process)
{
	char text[STAT_MAX];
	ssize_t len = io_read_text("/proc/self/stat", text, sizeof(text));

	return len > 0 && host_parse_process(text, (size_t)len, host->tick_ns, host->page_bytes, ret_process) == 0;
}

static void put_self(const struct host_metrics *host, struct metrics_out *out)
{
	struct host_process self;
	struct mallinfo2 heap = mallinfo2();
	u64 started_ns;

	if (read_self(host, &self)) {
		started_ns = self.start_ticks * host->tick_ns;
		put(out, METRIC_COUNTER, "otelcol_process_uptime", "Uptime of the process",
		    (double)(clock_ns(CLOCK_BOOTTIME) - started_ns) / 1e9);
		put(out, METRIC_GAUGE, "otelcol_process_memory_rss", "Total physical memory (resident set size)",
		    (double)self.rss_bytes);
		put(out, METRIC_GAUGE, "wick_process_threads", "Threads of the process", self.threads);
	}
	put(out, METRIC_COUNTER, "otelcol_process_cpu_seconds", "Total CPU user and system time in seconds",
	    (double)clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1e9);
	put(out, METRIC_GAUGE, "otelcol_process_runtime_heap_alloc_bytes", "Bytes of allocated heap objects",
	    (double)(heap.uordblks + heap.hblkhd));
	put(out, METRIC_GAUGE, "otelcol_process_runtime_total_sys_memory_bytes",
	    "Total bytes of memory obtained from the OS for the heap", (double)(heap.arena + heap.hblkhd));
	put(out, METRIC_COUNTER, "wick_log_lines_dropped", "Log lines that were left out because they came too often",
	    (double)log_dropped_count());
}

/* ---- The machine --------------------------------------------------------------------- */

static void put_cpus(const struct host_sample *s, struct metrics_out *out)
{
	static const char *const minutes[] = { "system_cpu_load_average_1m", "system_cpu_load_average_5m",
					       "system_cpu_load_average_15m" };

	put(out, METRIC_GAUGE, "system_cpu_logical_count", "CPUs that are online", s->cpu_count);
	for (int i = 0; i < HOST_CPU_STATE_COUNT; i++)
		put_labelled(out, METRIC_COUNTER, "system_cpu_time", "Seconds all CPUs spent in each state", "state",
			     host_cpu_state_names[i], (double)s->cpu_ns[i] / 1e9);
	for (int i = 0; i < 3; i++)
		put(out, METRIC_GAUGE, minutes[i], "Threads that ran or wanted to, on average", s->load[i]);
	put(out, METRIC_COUNTER, "system_context_switches", "Context switches since boot",
	    (double)s->context_switches);
	put(out, METRIC_COUNTER, "system_processes_created", "Processes and threads started since boot",
	    (double)s->forks);
	put_labelled(out, METRIC_GAUGE, "system_threads_count", "Threads by state", "status", "running", s->running);
	put_labelled(out, METRIC_GAUGE, "system_threads_count", "Threads by state", "status", "blocked", s->blocked);
	put(out, METRIC_GAUGE, "system_processes_count", "Processes", s->process_count);
}

static void put_memory(const struct host_sample *s, struct metrics_out *out)
{
	put(out, METRIC_GAUGE, "system_memory_limit", "Bytes of memory there are", (double)s->memory_total_bytes);
	put(out, METRIC_GAUGE, "system_linux_memory_available", "Bytes of memory that programs could still get",
	    (double)s->memory_available_bytes);
	for (int i = 0; i < HOST_MEMORY_STATE_COUNT; i++)
		put_labelled(out, METRIC_GAUGE, "system_memory_usage", "Bytes of memory by state", "state",
			     host_memory_state_names[i], (double)s->memory_bytes[i]);
}

/* Labels are UTF-8; names of processes need not be. */
static void clean_name(const char *name, char ret_clean[HOST_NAME_MAX])
{
	size_t len = strlen(name), step;

	for (size_t i = 0; i < len; i += step ? step : 1) {
		step = utf8_next(name + i, len - i);
		if (step > 1 || (step == 1 && (unsigned char)name[i] >= 0x20))
			memcpy(ret_clean + i, name + i, step);
		else
			ret_clean[i] = '?';
	}
	ret_clean[len] = '\0';
}

static void put_process(const struct host_process *process, struct metrics_out *out, const char *name,
			const char *help, double value)
{
	char pid[16], clean[HOST_NAME_MAX];
	const struct metric_label labels[] = { { "process_pid", pid }, { "process_executable_name", clean } };

	(void)snprintf(pid, sizeof(pid), "%d", process->pid);
	clean_name(process->name, clean);
	metrics_put(out, METRIC_GAUGE, name, help, labels, 2, value);
}

static void put_top(const struct host_sample *s, struct metrics_out *out)
{
	for (u32 i = 0; i < s->by_cpu_count; i++)
		put_process(&s->by_cpu[i], out, "process_cpu_utilization",
			    "CPUs used by the processes that use most, on average since the last scrape",
			    s->by_cpu[i].cpus);
	for (u32 i = 0; i < s->by_rss_count; i++)
		put_process(&s->by_rss[i], out, "process_memory_usage",
			    "Resident bytes of the processes that have most", (double)s->by_rss[i].rss_bytes);
}

void host_metrics_put(void *arg, struct metrics_out *out)
{
	struct host_metrics *host = arg;

	put_self(host, out);
	if (monotonic_ns() - host->sample.monotonic_ns >= SAMPLE_NS)
		(void)host_sample(host->state, &host->sample);
	put_cpus(&host->sample, out);
	put_memory(&host->sample, out);
	put_top(&host->sample, out);
}
