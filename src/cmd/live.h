/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sampling this machine, as record, top and doctor do it: from values of the
 * command line to a running agent, with one sentence if that cannot be.
 */
#ifndef CMD_LIVE_H
#define CMD_LIVE_H

#include <stdbool.h>
#include <stddef.h>

#include "cmd/options.h"
#include "kinds/list.h"
#include "lang/options.h"
#include "proc/thread_labels.h"

struct buf;
struct agent;
struct agent_options;
struct agent_status;
struct terminal;

/* What can be said of sampling; a command's values begin with these. */
struct live_values {
	s64 frequency;
	const char *kinds;
	struct option_numbers pids;	/* only these, if any */
	bool children;			/* of theirs */
	const char *cgroup, *tracers;
	const char *service, *container, *pod, *user;	/* only processes of these, where given */
	bool inlines, version_check;
	struct option_texts thread_labels;
	struct lang_options langs;
};

#define LIVE_AT(field) offsetof(struct live_values, field)
#define LIVE_KIND(number, ID, folder) " " #folder
#define LIVE_LANG_OPTION(name, flag, standard, help) \
	{ flag, 0, OPTION_SWITCH, LIVE_AT(langs.name), NULL, standard ? "on" : NULL, 0, 0, NULL, help },

/* The entries of a command's table for them: at `frequency_hz` a second, unless told otherwise. */
#define LIVE_OPTIONS(frequency_hz)                                                                                     \
	{ "frequency", 'F', OPTION_INTEGER, LIVE_AT(frequency), "HZ", frequency_hz, 1, 10000, NULL,                    \
	  "samples a second on each CPU" },                                                                            \
	{ "event", 'e', OPTION_TEXT, LIVE_AT(kinds), "KIND,...", "cpu", 0, 0, NULL,                                    \
	  "kinds of samples:" KINDS(LIVE_KIND) "; KIND:N takes one for N events, cycles and cpu-clock are clocks; "    \
	  "or an event of your own, tracepoint:SYSTEM:NAME, uprobe:FILE:FUNCTION (docs/probes.md)" },                  \
	{ "pid", 'p', OPTION_NUMBERS, LIVE_AT(pids), "PID,...", NULL, 1, 4194304, NULL, "only these processes" },      \
	{ "children", 0, OPTION_SWITCH, LIVE_AT(children), NULL, NULL, 0, 0, NULL,                                     \
	  "with -p: and those that they start" },                                                                      \
	{ "cgroup", 0, OPTION_TEXT, LIVE_AT(cgroup), "PATH", NULL, 0, 0, NULL,                                         \
	  "only processes in this control group" },                                                                    \
	{ "service", 0, OPTION_TEXT, LIVE_AT(service), "NAME", NULL, 0, 0, NULL,                                       \
	  "only processes of this service (docs/services.md)" },                                                       \
	{ "container", 0, OPTION_TEXT, LIVE_AT(container), "NAME", NULL, 0, 0, NULL,                                   \
	  "only processes of this container: its name, or 12 digits of its id" },                                      \
	{ "pod", 0, OPTION_TEXT, LIVE_AT(pod), "NAME", NULL, 0, 0, NULL,                                               \
	  "only processes of this pod: its name, where the engine of its containers tells, or its uid" },              \
	{ "user", 0, OPTION_TEXT, LIVE_AT(user), "NAME", NULL, 0, 0, NULL, "only processes of this user" },            \
	{ "tracers", 't', OPTION_TEXT, LIVE_AT(tracers), "LIST", "all", 0, 0, NULL,                                    \
	  "languages whose own functions are shown, or native" },                                                      \
	LANG_OPTIONS(LIVE_LANG_OPTION)                                                                                 \
	{ "thread-label", 0, OPTION_TEXTS, LIVE_AT(thread_labels), THREAD_LABEL_ARGUMENT, NULL, 0, 0, NULL,            \
	  "samples get the value of this thread-local variable as an attribute; up to 4 times (docs/requests.md)" },   \
	{ "inline", 0, OPTION_SWITCH, LIVE_AT(inlines), NULL, "on", 0, 0, NULL,                                        \
	  "find inlined functions and line numbers" },                                                                 \
	{ "kernel-version-check", 0, OPTION_SWITCH, LIVE_AT(version_check), NULL, "on", 0, 0, NULL,                    \
	  "refuse kernels that reading user memory from BPF can freeze" }

/* -EPERM, with a sentence in `why`, if this process may not sample. */
int live_check_privileges(struct buf *why);

/* The n-th runtime that was met and is not read, with the share of samples of its processes; false past the last. */
bool live_unread(const struct agent_status *status, u32 n, const char **ret_title, double *ret_percent);

/*
 * Sampling has begun when this returns 0. What the values say is put into `options`, which has the rest:
 * agent_defaults and the command's own. On failure `why` gets a sentence. Warnings go to standard error.
 */
int live_start(const struct live_values *values, struct agent_options *options, struct agent **ret_agent,
	       struct buf *why);

/* The counters that are not 0, one a line: value, name, what it means. */
void live_print_counters(const struct agent_status *status, const struct terminal *terminal, struct buf *out);

/* A JSON object of all counters. */
void live_counters_json(const struct agent_status *status, struct buf *out);

/* Samples that did not reach user space or did not fit. */
u64 live_lost(const struct agent_status *status);

/* Of the samples of user code, the percentage whose stack is whole; less than 0 if there is none. */
double live_whole_percent(const struct agent_status *status);

/* The same in words: "99.8 % of user stacks are whole", and what must be known beside that. */
void live_add_whole(const struct agent_status *status, struct buf *out);

#endif
