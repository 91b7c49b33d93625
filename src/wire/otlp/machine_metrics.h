/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What metrics of OTLP tell of machines: out of an ExportMetricsServiceRequest come samples, as a look at /proc gives
 * them (proc/host.h), one for each host and time. Understood are the names of OpenTelemetry's semantic conventions that
 * wick sends, and those of the Collector's `hostmetrics`:
 *
 *	system.cpu.time				by state or cpu.mode; cumulative, of all CPUs or of each
 *	system.cpu.logical.count		else as many as have told their idle time
 *	system.cpu.load_average.1m, system.processes.count
 *	system.memory.limit, system.linux.memory.available, system.memory.usage by state
 *	process.cpu.utilization, process.memory.usage, by process.pid; of the processes with most of it
 *
 * Everything is a stranger's: what cannot be is left out and counted. No state; any thread.
 */
#ifndef WIRE_OTLP_MACHINE_METRICS_H
#define WIRE_OTLP_MACHINE_METRICS_H

#include "proc/host.h"

struct buf;

#define MACHINE_NAME_MAX 256
/* Hosts and times of one request. */
#define MACHINE_SAMPLES_MAX 256

struct machine_sample {
	char host[MACHINE_NAME_MAX];	/* UTF-8 without control characters, not empty */
	bool has_cpu;			/* times of CPUs; without them it says too little */
	u32 cpu_metric, count_metric;	/* of which metric CPU times and processes are summed up: each is told once */
	u32 idle_count;			/* CPUs that have told their idle time */
	bool cpus_are_parts;		/* what processes used is a part of all CPUs, not a number of them */
	struct host_sample at;		/* monotonic_ns is the points' time, of the epoch */
};

struct machine_metrics {
	struct machine_sample *samples;	/* in the order of time */
	u32 count, cap;
	u32 metric;			/* the one that is read */
	/* Points that are in samples; of other metrics, or of no host; with values or times that cannot be; of hosts
	 * and times past the limit. */
	u64 taken, ignored, wrong, left_out;
};

/* -EBADMSG: it is no such request; -ENOMEM. */
int machine_metrics_decode(const void *at, size_t bytes, struct machine_metrics *ret_metrics);
void machine_metrics_done(struct machine_metrics *metrics);

/* The same request, of which only what is read here is left, from OTLP's JSON. -EBADMSG, -ENOMEM. */
int machine_metrics_from_json(const void *at, size_t bytes, struct buf *out);

#endif
