// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cmd/command.h"
#include "kinds/perf_event.h"
#include "tracer/tracepoint.h"

struct listing {
	const char *pattern;	/* a part of a name, or one with * and ?; "": all */
	char **names;
	size_t count, cap;
};

static bool matches(const char *pattern, const char *name)
{
	return strpbrk(pattern, "*?[") ? fnmatch(pattern, name, 0) == 0 : strstr(name, pattern) != NULL;
}

static void add(void *arg, const char *name)
{
	struct listing *l = arg;

	if (!matches(l->pattern, name))
		return;
	if (l->count == l->cap) {
		char **grown = reallocarray(l->names, l->cap ? 2 * l->cap : 256, sizeof(*grown));

		if (!grown)
			return;
		l->cap = l->cap ? 2 * l->cap : 256;
		l->names = grown;
	}
	l->names[l->count] = strdup(name);
	l->count += l->names[l->count] != NULL;
}

static void listing_done(struct listing *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->names[i]);
	free(l->names);
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Of one tracepoint: what {value=args.NAME} may say. */
static void print_fields(const char *event)
{
	_cleanup_(freep) char *system = strdup(event), *format = NULL;
	char *colon = system ? strchr(system, ':') : NULL;
	struct tracepoint_field field;
	const char *at;

	if (!colon)
		return;
	*colon = '\0';
	if (tracepoint_format(system, colon + 1, &format) < 0)
		return;
	for (at = format; tracepoint_next_field(&at, &field);)
		if (field.is_number && strncmp(field.name, "common_", 7))
			printf("  args.%s\n", field.name);
}

static int run(const void *values, int count, char **operands)
{
	_cleanup_(listing_done) struct listing l = { .pattern = count ? operands[0] : "" };
	int r;

	if (!strncmp(l.pattern, "tracepoint:", 11))
		l.pattern += 11;
	r = tracepoint_list(add, &l);
	perf_event_list(PERF_EVENT_DEVICES, add, &l);
	if (r < 0)
		(void)command_fail(&command_probes, "tracepoints cannot be listed: %s; they are in tracefs, for root: "
				   "mount -t tracefs nodev /sys/kernel/tracing", strerror(r == -ENODEV ? ENOENT : -r));
	if (l.count)
		qsort(l.names, l.count, sizeof(*l.names), compare);
	for (size_t i = 0; i < l.count; i++)
		puts(l.names[i]);
	if (l.count == 1)
		print_fields(l.names[0]);
	if (!l.count && r == 0)
		return command_fail(&command_probes, "nothing is called like %s", l.pattern);
	return r < 0;
}

const struct command command_probes = {
	.name = "probes",
	.help = "list the events that record -e and probes: take on this machine",
	.operands = "[PATTERN]",
	.operands_max = 1,
	.about = "Tracepoints and events of perf whose name has PATTERN in it, or is like it where it has * or ?;\n"
		 "of one tracepoint, its fields, too. Functions of programs (uprobe:FILE:FUNCTION) and USDT markers\n"
		 "are in files: `nm FILE` and `readelf -n FILE` list them.\n",
	.examples = "  wick probes\n"
		    "  wick probes 'sched:*'\n"
		    "  wick probes block:block_rq_issue\n",
	.options = { .entries = (const struct option_entry[]){ { 0 } } },
	.values_bytes = 1,
	.run = run,
};
