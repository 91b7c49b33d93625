/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process that is started, where this machine is to be sampled: it runs two others and starts again the one that
 * ends before its time.
 *
 *	wick			waits for signals and for its children; parses nothing but the configuration
 *	wick: sampler		one for each receiver `profiling`: sees the machine, no network (halves/sampling.h)
 *	wick: service		everything else: this program, run again as another user (cmd/run.c)
 *
 * SIGHUP: a good configuration gets new samplers, and the service loads it, too. SIGINT, SIGTERM: the service stops,
 * then the samplers; its exit status is ours. A service that cannot start ends it all; one that has started is
 * started again, also for a configuration with files that it was not let to (cmd/service_files.h).
 */
#ifndef CMD_SUPERVISOR_H
#define CMD_SUPERVISOR_H

#include "cmd/config_options.h"
#include "cmd/confinement.h"

struct buf;
struct notify;
struct passed;

/* How a service ends that wants to be started again, as none that fails does (sysexits.h: EX_TEMPFAIL). */
#define SERVICE_AGAIN 75

struct supervisor_options {
	const struct config_options *config;
	const struct confinement *confinement;
	double cpu_percent;	/* of one CPU, that it may use where the configuration does not say; 0: a default */
	struct notify *notify;	/* whom it tells how all of it is */
	struct passed *passed;	/* sockets for the service */
	u64 patience_ns;	/* that a reload may take, beside what a watchdog gives */
};

/* Whether the configuration samples this machine. */
bool supervisor_is_needed(const struct config *config);

/* Takes over the config. The exit status of the service; -errno with a sentence in `why`: nothing could be started. */
int supervisor_run(const struct supervisor_options *options, struct config *config, struct buf *why);

/* In the service: the descriptor of the supervisor, once; -1: this is none. */
int supervisor_claim(void);

#endif
