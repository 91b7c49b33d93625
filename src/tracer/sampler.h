/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What makes samples: on each CPU that is online and wanted, an event of perf for
 * each kind, with the kind's BPF program attached.
 *
 * Beside the clock that samples CPU time there may be faster ones, which sample some
 * processes instead of it (bpf/perf_sample.h): a rate each, and not more than
 * SAMPLER_CLOCKS_MAX. They are the same events, marked with their rate.
 *
 * The tracer's thread owns it.
 */
#ifndef TRACER_SAMPLER_H
#define TRACER_SAMPLER_H

#include <stdbool.h>

#include "base/cleanup.h"
#include "base/types.h"
#include "kinds/choice.h"

struct sampler;
struct sideband;

struct sampler_event {
	const struct kind_event *event;
	u64 events_per_sample;		/* 0: by frequency */
	int program_fd;
	bool is_cpu;			/* samples CPU time */
};

#define SAMPLER_CLOCKS_MAX 4

struct sampler_options {
	u32 frequency_hz;
	struct sampler_event events[KIND_MAX];
	u32 event_count;
	struct sideband *sideband;	/* listens on all CPUs */
	const char *cpus;		/* sampled are only these, "0-3,8"; NULL: all that are online */
};

/* Which event of a kind can be had here, the chosen one if there is one; or why none, as -errno. */
int sampler_probe(const struct kind_choice *choice, const struct kind_event **ret_event);

int sampler_new(const struct sampler_options *options, struct sampler **ret_sampler);
void sampler_free(struct sampler *sampler);
DEFINE_CLEANUP(struct sampler *, sampler_free)

/* Takes no samples any more, or again. */
void sampler_pause(struct sampler *sampler, bool pause);

/*
 * From now on there are clocks of these rates beside the usual one, each once, and no others. -EOPNOTSUPP: CPU time is
 * not sampled, or not by a clock; else -errno, and there are none.
 */
int sampler_set_clocks(struct sampler *sampler, const u32 *rates_hz, u32 count);

/* Opens events on CPUs that came online, closes those of CPUs that went. The number online, or -errno. */
int sampler_update_cpus(struct sampler *sampler);

/* Parses a list of CPUs as the kernel writes it ("0-3,8"): calls add(arg, cpu) for each. -EBADMSG. */
int sampler_parse_cpus(const char *list, int (*add)(void *arg, u32 cpu), void *arg);

#endif
