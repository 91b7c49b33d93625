/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clock: one sampling event on each CPU that is online and wanted, with the BPF
 * program attached. Hardware cycles where there is a PMU, else the kernel's
 * software clock.
 *
 * The tracer's thread owns it.
 */
#ifndef TRACER_SAMPLER_H
#define TRACER_SAMPLER_H

#include <stdbool.h>

#include "base/cleanup.h"
#include "base/types.h"

struct sampler;
struct sideband;

enum sampler_event { SAMPLER_AUTO, SAMPLER_CYCLES, SAMPLER_CLOCK };

struct sampler_options {
	u32 frequency_hz;
	enum sampler_event event;
	int program_fd;
	struct sideband *sideband;	/* listens on all CPUs */
	const char *cpus;		/* sampled are only these, "0-3,8"; NULL: all that are online */
};

/* Which event can be had here: SAMPLER_CYCLES or SAMPLER_CLOCK; or why none, as -errno. */
int sampler_probe(enum sampler_event wanted);

int sampler_new(const struct sampler_options *options, struct sampler **ret_sampler);
void sampler_free(struct sampler *sampler);
DEFINE_CLEANUP(struct sampler *, sampler_free)

/* Stops the clock, or lets it go on. */
void sampler_pause(struct sampler *sampler, bool pause);

/* Opens events on CPUs that came online, closes those of CPUs that went. The number online, or -errno. */
int sampler_update_cpus(struct sampler *sampler);

/* Parses a list of CPUs as the kernel writes it ("0-3,8"): calls add(arg, cpu) for each. -EBADMSG. */
int sampler_parse_cpus(const char *list, int (*add)(void *arg, u32 cpu), void *arg);

#endif
