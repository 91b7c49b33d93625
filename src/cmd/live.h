/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sampling this machine, as record, top and doctor do it: from values of the
 * command line to a running agent, with one sentence if that cannot be.
 */
#ifndef CMD_LIVE_H
#define CMD_LIVE_H

#include <stdbool.h>
#include <sys/types.h>

#include "cmd/options.h"
#include "kinds/list.h"

struct buf;
struct agent;
struct agent_status;
struct terminal;

/* Where unwind rows, and debug files that were fetched, are kept. */
#define LIVE_CACHE_PATH "/var/cache/wick"

/* For KINDS(): what help says of a kind. */
#define LIVE_KIND(number, ID, folder) " " #folder

struct live_options {
	s64 frequency;
	const char *kinds;		/* of samples, as kinds/choice.h reads them; NULL: cpu */
	struct option_numbers pids;	/* only these, if any */
	bool children;			/* of theirs */
	const char *cgroup;		/* or NULL */
	const char *tracers;		/* languages whose own functions are shown (lang_left_out()); NULL: all */
	bool inlines;
	const char *debuginfod_urls;	/* or NULL */
	bool version_check;
	bool command_lines;		/* put them into profiles */
	u32 lang_wishes;		/* enum lang_wish (lang/lang.h) */
	u32 interval_ms;		/* of a window; 0: the agent's own */
};

/* Sampling has begun when this returns 0. On failure `why` gets a sentence. Warnings go to standard error. */
int live_start(const struct live_options *options, struct agent **ret_agent, struct buf *why);

/* The counters that are not 0, one a line: value, name, what it means. */
void live_print_counters(const struct agent_status *status, const struct terminal *terminal, struct buf *out);

/* A JSON object of all counters. */
void live_counters_json(const struct agent_status *status, struct buf *out);

/* Samples that did not reach user space or did not fit. */
u64 live_lost(const struct agent_status *status);

/* Of the samples of user code, the percentage whose stack is whole; 100 if there is none. */
double live_whole_percent(const struct agent_status *status);

#endif
