// SPDX-License-Identifier: Apache-2.0
#include "kinds/perf_event.h"

#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/io.h"
#include "kinds/probe.h"

#define HARDWARE_PERIOD 1000003	/* unless it is said: some thousand samples a second */

#define CACHE(cache, op, result) \
	(PERF_COUNT_HW_CACHE_##cache | PERF_COUNT_HW_CACHE_OP_##op << 8 | PERF_COUNT_HW_CACHE_RESULT_##result << 16)

static const struct kind_event known[] = {
	{ "context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES },
	{ "cs", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES },
	{ "cpu-migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS },
	{ "migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS },
	{ "minor-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN },
	{ "major-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ },
	{ "alignment-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_ALIGNMENT_FAULTS },
	{ "emulation-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_EMULATION_FAULTS },
	{ "cgroup-switches", PERF_TYPE_SOFTWARE, 11 /* PERF_COUNT_SW_CGROUP_SWITCHES, v5.13 */ },
	{ "instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS },
	{ "cache-references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES },
	{ "cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES },
	{ "branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS },
	{ "branch-instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS },
	{ "branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES },
	{ "bus-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BUS_CYCLES },
	{ "ref-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES },
	{ "stalled-cycles-frontend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND },
	{ "stalled-cycles-backend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND },
	{ "L1-dcache-loads", PERF_TYPE_HW_CACHE, CACHE(L1D, READ, ACCESS) },
	{ "L1-dcache-load-misses", PERF_TYPE_HW_CACHE, CACHE(L1D, READ, MISS) },
	{ "L1-dcache-stores", PERF_TYPE_HW_CACHE, CACHE(L1D, WRITE, ACCESS) },
	{ "L1-icache-load-misses", PERF_TYPE_HW_CACHE, CACHE(L1I, READ, MISS) },
	{ "LLC-loads", PERF_TYPE_HW_CACHE, CACHE(LL, READ, ACCESS) },
	{ "LLC-load-misses", PERF_TYPE_HW_CACHE, CACHE(LL, READ, MISS) },
	{ "LLC-stores", PERF_TYPE_HW_CACHE, CACHE(LL, WRITE, ACCESS) },
	{ "dTLB-load-misses", PERF_TYPE_HW_CACHE, CACHE(DTLB, READ, MISS) },
	{ "dTLB-store-misses", PERF_TYPE_HW_CACHE, CACHE(DTLB, WRITE, MISS) },
	{ "iTLB-load-misses", PERF_TYPE_HW_CACHE, CACHE(ITLB, READ, MISS) },
};

/* ---- Units ---- */

static int read_text(const char *devices, const char *unit, const char *folder, const char *name, char text[256])
{
	char path[512];
	int r;

	if (snprintf(path, sizeof(path), "%s/%s/%s%s%s", devices, unit, folder, *folder ? "/" : "", name) >=
	    (int)sizeof(path))
		return -ENAMETOOLONG;
	r = (int)io_read_text(path, text, 256);
	if (r < 0)
		return r;
	text[strcspn(text, "\n")] = '\0';
	return 0;
}

/* Puts a term's value where its format says: "config:0-7", "config:0-7,32-35". Only the first word can be set. */
static int put_term(const char *devices, const char *unit, const char *term, u64 value, u64 *config)
{
	char format[256], *at = format;
	int r = read_text(devices, unit, "format", term, format);

	if (r < 0)
		return r;
	if (strncmp(at, "config:", 7))
		return -EOPNOTSUPP;
	for (at += 7; *at; at += *at == ',') {
		unsigned long low = strtoul(at, &at, 10), high = low;

		if (*at == '-')
			high = strtoul(at + 1, &at, 10);
		if (high < low || high > 63 || (*at && *at != ','))
			return -EINVAL;
		*config |= (high - low == 63 ? value : value & ((1ull << (high - low + 1)) - 1)) << low;
		value = high - low == 63 ? 0 : value >> (high - low + 1);
	}
	return 0;
}

/* "event=0x3c,umask=0x01" */
static int put_terms(const char *devices, const char *unit, char *terms, u64 *config)
{
	int r = 0;

	for (char *term; r == 0 && (term = strsep(&terms, ","));) {
		char *equals = strchr(term, '=');

		if (equals)
			*equals = '\0';
		if (!*term || strchr(term, '/'))
			return -EINVAL;
		r = put_term(devices, unit, term, equals ? strtoull(equals + 1, NULL, 0) : 1, config);
	}
	return r;
}

static int find_in_unit(const char *devices, const char *unit, const char *name, struct kind_event *event)
{
	char text[256];
	int r = read_text(devices, unit, "", "type", text);

	if (r < 0)
		return -ENOENT;
	event->type = (u32)strtoul(text, NULL, 10);
	r = read_text(devices, unit, "events", name, text);
	return r < 0 ? -ENOENT : put_terms(devices, unit, text, &event->config);
}

/* UNIT/NAME/ */
static int find_unit(struct str name, const char *devices, struct kind_event *event, struct buf *why)
{
	char text[PROBE_NAME_BYTES], *slash;
	int r;

	if (name.len >= sizeof(text) || name.at[name.len - 1] != '/' || name.at[0] == '/' || name.at[0] == '.')
		return -ENOENT;
	memcpy(text, name.at, name.len - 1);
	text[name.len - 1] = '\0';
	slash = strchr(text, '/');
	if (!slash || strchr(slash + 1, '/') || !slash[1] || slash[1] == '.')
		return -ENOENT;
	*slash = '\0';
	r = find_in_unit(devices, text, slash + 1, event);
	if (r < 0 && r != -ENOENT)
		buf_addf(why, "\"%s/%s/\": %s", text, slash + 1, r == -EOPNOTSUPP ?
			 "its number is of a form that wick does not set" : "its files in /sys cannot be read");
	return r < 0 && r != -ENOENT ? -EINVAL : r;
}

static bool find_raw(struct str name, struct kind_event *event)
{
	char digits[20], *end;

	if (name.len < 2 || name.len >= sizeof(digits) || name.at[0] != 'r')
		return false;
	memcpy(digits, name.at + 1, name.len - 1);
	digits[name.len - 1] = '\0';
	if (strspn(digits, "0123456789abcdefABCDEF") != name.len - 1)
		return false;
	event->type = PERF_TYPE_RAW;
	event->config = strtoull(digits, &end, 16);
	return true;
}

int perf_event_find(struct str name, const char *devices, struct kind_event *ret_event, struct buf *why)
{
	*ret_event = (struct kind_event){ 0 };
	for (u32 i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (str_is(name, known[i].name)) {
			*ret_event = known[i];
			return 0;
		}
	if (name.len && find_raw(name, ret_event))
		return 0;
	return name.len > 3 ? find_unit(name, devices, ret_event, why) : -ENOENT;
}

int perf_event_probe(struct str name, const char *devices, struct probe **ret_probe, struct buf *why)
{
	_cleanup_(probe_freep) struct probe *probe = calloc(1, sizeof(*probe));
	int r;

	if (!probe)
		return -ENOMEM;
	r = perf_event_find(name, devices, &probe->events[0], why);
	if (r < 0)
		return r;
	if (name.len >= sizeof(probe->name))
		return -ENOENT;
	memcpy(probe->name, name.at, name.len);
	probe->events[0].name = probe->name;
	probe->kind = (struct kind){
		.name = probe->name, .title = probe->name, .sample = { probe->name, "count" },
		.period = { probe->name, "count" }, .events = probe->events,
		.events_per_sample = probe->events[0].type == PERF_TYPE_SOFTWARE ? 1 : HARDWARE_PERIOD,
		.object = kind_list[KIND_FAULTS]->object,	/* which weighs by what lies between two samples */
		.perf_type = probe->events[0].type, .perf_config = probe->events[0].config,
	};
	*ret_probe = TAKE(probe);
	return 0;
}

/* ---- A list ---- */

static u32 list_unit(const char *devices, const char *unit, void (*use)(void *arg, const char *name), void *arg)
{
	char path[512], name[600];
	struct dirent *entry;
	u32 count = 0;
	DIR *folder;

	snprintf(path, sizeof(path), "%s/%s/events", devices, unit);
	folder = opendir(path);
	while (folder && (entry = readdir(folder)))
		/* NAME.unit and NAME.scale are of NAME. */
		if (!strchr(entry->d_name, '.')) {
			snprintf(name, sizeof(name), "%s/%s/", unit, entry->d_name);
			use(arg, name);
			count++;
		}
	if (folder)
		closedir(folder);
	return count;
}

u32 perf_event_list(const char *devices, void (*use)(void *arg, const char *name), void *arg)
{
	u32 count = sizeof(known) / sizeof(*known);
	struct dirent *entry;
	DIR *folder = opendir(devices);

	for (u32 i = 0; i < sizeof(known) / sizeof(*known); i++)
		use(arg, known[i].name);
	while (folder && (entry = readdir(folder)))
		if (entry->d_name[0] != '.')
			count += list_unit(devices, entry->d_name, use, arg);
	if (folder)
		closedir(folder);
	return count;
}
