// SPDX-License-Identifier: Apache-2.0
#include "agent/meter.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "proc/cgroup.h"
#include "proc/description.h"
#include "symbol/symbolizer.h"
#include "trace/window.h"

#define NAME_MAX_BYTES CGROUP_CPU_BYTES
#define OTHER "(other)"

struct meter_row {
	char name[NAME_MAX_BYTES];
	u64 sampled_ns, whole_ns, cut_ns, unnamed_ns;
	u64 first_ns, exact_ns;		/* of a cgroup: what was read first, 0: nothing yet; how much more it is now */
};

struct meter_table {
	struct meter_row rows[METER_ROWS];
	_Atomic u32 count;	/* of rows whose names are there */
};

struct meter {
	struct meter_table services, cgroups;
	char root[PATH_MAX / 2];
};

struct meter *meter_new(const char *cgroups)
{
	struct meter *m = calloc(1, sizeof(*m));

	if (m)
		snprintf(m->root, sizeof(m->root), "%s", cgroups);
	return m;
}

void meter_free(struct meter *m)
{
	free(m);
}

/* ---- What the kernel has counted --------------------------------------------------------- */

/* name: "/path" of version 2, or "cpuacct:/path". 0: not to be had. */
static u64 exact_ns(const struct meter *m, const char *name)
{
	static const char *const folders[] = { "cpuacct", "cpu,cpuacct" };
	char path[PATH_MAX], text[4096];
	const char *colon = strchr(name, ':'), *usage;

	for (u32 i = 0; colon && i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%s%s/cpuacct.usage", m->root, folders[i], colon + 1);
		if (io_read_text(path, text, sizeof(text)) > 0)
			return strtoull(text, NULL, 10);
	}
	snprintf(path, sizeof(path), "%s%s/cpu.stat", m->root, name);
	if (colon || io_read_text(path, text, sizeof(text)) <= 0)
		return 0;
	usage = strstr(text, "usage_usec ");
	return usage ? strtoull(usage + strlen("usage_usec "), NULL, 10) * 1000 : 0;
}

void meter_read(const struct meter *m, struct meter_reading *ret_reading)
{
	ret_reading->count = atomic_load(&m->cgroups.count);
	for (u32 i = 0; i < ret_reading->count; i++)
		ret_reading->exact_ns[i] = exact_ns(m, m->cgroups.rows[i].name);
}

/* What is gone keeps what was last read of it. */
static void note_reading(struct meter_row *row, u64 now_ns)
{
	if (!row->first_ns)
		row->first_ns = now_ns;
	else if (now_ns > row->first_ns)
		row->exact_ns = now_ns - row->first_ns;
}

/* ---- Rows ---------------------------------------------------------------------------------- */

/* The last row is for all that did not fit. */
static struct meter_row *row_of(struct meter_table *t, const char *name)
{
	u32 count = atomic_load(&t->count);

	for (u32 i = 0; i < count; i++)
		if (!strcmp(t->rows[i].name, name))
			return &t->rows[i];
	if (count == METER_ROWS)
		return &t->rows[METER_ROWS - 1];
	snprintf(t->rows[count].name, NAME_MAX_BYTES, "%s", count + 1 == METER_ROWS ? OTHER : name);
	atomic_store(&t->count, count + 1);
	return &t->rows[count];
}

/* The value of a key in a process's description, or "". */
static const char *described(const struct window_process *p, const char *key)
{
	size_t len = strlen(key);

	for (u32 at = 0; at < p->description_bytes; at += (u32)strlen(p->description + at) + 1)
		if (!strncmp(p->description + at, key, len) && p->description[at + len] == '=')
			return p->description + at + len + 1;
	return "";
}

static bool is_below(const char *path, const char *above)
{
	size_t len = strlen(above);

	if (strncmp(path, above, len))
		return false;
	return !path[len] || path[len] == '/' || above[len - 1] == '/';
}

static bool is_root(const char *path)
{
	size_t len = strlen(path);

	return !strcmp(path, "/") || (len > 1 && !strcmp(path + len - 2, ":/"));
}

/* The kernel's numbers are with those below. Who has none is one of the kernel's threads, or went too soon. */
static void add_to_cgroups(struct meter *m, const char *path, u64 ns)
{
	if (*path && !strstr(path, "/.."))
		(void)row_of(&m->cgroups, path);
	for (u32 i = 0; i < m->cgroups.count; i++) {
		struct meter_row *row = &m->cgroups.rows[i];

		if (row->first_ns && (*path ? is_below(path, row->name) : is_root(row->name)))
			row->sampled_ns += ns;
	}
}

/* ---- Samples -------------------------------------------------------------------------------- */

static bool has_no_name(const struct window *w, struct symbolizer *symbolizer, u64 word)
{
	const struct symbol_name *name;
	struct binary *binary;

	if (word >> FRAME_KIND_SHIFT == FRAME_VA)
		return true;
	if (word >> FRAME_KIND_SHIFT != FRAME_EXE)
		return false;
	binary = window_binary(w, (u32)(word >> FRAME_BINARY_SHIFT & FRAME_BINARY_MASK));
	name = binary ? symbolizer_find(symbolizer, binary, word & FRAME_EA_MASK) : NULL;
	return !name || name->source == SYMBOL_NONE || name->source == SYMBOL_FDE;
}

static bool is_unnamed(const struct window *w, struct symbolizer *symbolizer, const struct window_stack *stack)
{
	for (u32 i = 0; i < stack->user_count; i++)
		if (has_no_name(w, symbolizer, stack->words[stack->kernel_count + i]))
			return true;
	return false;
}

static void add_to_service(struct meter *m, const struct window_process *p, const struct window_stack *stack,
			   bool unnamed, u64 ns)
{
	const char *service = described(p, "service.name");
	struct meter_row *row = row_of(&m->services, *service ? service : p->comm);

	row->sampled_ns += ns;
	*(counters_is_cut(stack->end) ? &row->cut_ns : &row->whole_ns) += ns;
	if (unnamed)
		row->unnamed_ns += ns;
}

/* From its first reading on a cgroup has both: what lies before counts as neither. */
void meter_note(struct meter *m, const struct window *w, const struct meter_reading *reading,
		struct symbolizer *symbolizer, u64 period_ns)
{
	_cleanup_(freep) u64 *values = calloc(w->sample_keys.count + 1, sizeof(*values));

	for (u32 i = 0; values && i < w->time_count; i++)
		values[w->times[i].sample] +=
			w->times[i].value * window_period_ns(w, window_sample(w, w->times[i].sample), period_ns);
	for (u32 i = 0; values && i < w->sample_keys.count; i++) {
		const struct window_stack *stack = window_stack(w, window_sample(w, i)->stack);
		const struct window_process *p = &w->processes[stack->process];

		if (window_sample(w, i)->kind)
			continue;	/* not on a CPU */
		add_to_service(m, p, stack, is_unnamed(w, symbolizer, stack), values[i]);
		add_to_cgroups(m, described(p, DESCRIPTION_CGROUP), values[i]);
	}
	for (u32 i = 0; i < reading->count; i++)
		note_reading(&m->cgroups.rows[i], reading->exact_ns[i]);
}

/* ---- Telling of it ---------------------------------------------------------------------------- */

static struct counter_value value(const char *name, const char *text, const char *label, const char *of, u64 ns)
{
	return (struct counter_value){ name, text, of, label, COUNT_NEUTRAL, ns };
}

u32 meter_counters(const struct meter *m, struct counter_value ret_values[METER_VALUES])
{
	struct counter_value *to = ret_values;

	for (u32 i = 0; i < m->cgroups.count; i++) {
		const struct meter_row *row = &m->cgroups.rows[i];

		if (!row->exact_ns)
			continue;
		*to++ = value("cgroup_cpu_sampled_ns", "CPU time of a cgroup that samples stand for", "cgroup",
			      row->name, row->sampled_ns);
		*to++ = value("cgroup_cpu_exact_ns", "... that the kernel has counted", "cgroup", row->name,
			      row->exact_ns);
	}
	for (u32 i = 0; i < m->services.count; i++) {
		const struct meter_row *row = &m->services.rows[i];

		*to++ = value("service_whole_ns", "sampled CPU time of a service with whole stacks", "service",
			      row->name, row->whole_ns);
		*to++ = value("service_cut_ns", "... with stacks that are cut", "service", row->name, row->cut_ns);
		*to++ = value("service_unnamed_ns", "... with frames that have no name", "service", row->name,
			      row->unnamed_ns);
	}
	return (u32)(to - ret_values);
}
