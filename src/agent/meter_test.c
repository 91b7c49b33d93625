// SPDX-License-Identifier: Apache-2.0
#include "agent/meter.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test.h"
#include "trace/window.h"

#define MS 1000000ull

static char root[64];

/* What the kernel would have counted. */
static void set_exact(const char *cgroup, u64 us)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", root, cgroup);
	(void)mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/%s/cpu.stat", root, cgroup);
	file = fopen(path, "w");
	fprintf(file, "usage_usec %llu\nuser_usec 1\n", (unsigned long long)us);
	fclose(file);
}

static void tear_down(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r %s", root);
	EQ(system(command), 0);
}

static void add(struct window *w, u32 pid, const char *description, u32 bytes, u8 end, u32 count)
{
	struct trace_record trace = { .pid = pid, .tid = pid, .comm = "prog", .value = 1 };
	struct window_process about = { .pid = pid, .comm = "prog", .exe_path = "", .command_line = "",
					.description = description, .description_bytes = bytes };
	u32 process = window_process(w, pid, &about);

	for (u32 i = 0; i < count; i++)
		window_add(w, process, &trace, NULL, NULL, 0, end, NULL, NULL);
}
#define ADD(w, pid, text, end, count) add(w, pid, text, sizeof(text), end, count)

static u64 told(const struct meter *m, const char *name, const char *of)
{
	struct counter_value values[METER_VALUES];
	u32 count = meter_counters(m, values);

	for (u32 i = 0; i < count; i++)
		if (!strcmp(values[i].name, name) && !strcmp(values[i].of, of))
			return values[i].value;
	return UINT64_MAX;
}

static void note(struct meter *m, struct window *w)
{
	struct meter_reading reading;

	meter_read(m, &reading);
	meter_note(m, w, &reading, NULL, 50 * MS);
	window_free(w);
}

static struct meter *set_up(void)
{
	struct meter *m;

	snprintf(root, sizeof(root), "/tmp/wick-meter-XXXXXX");
	OK(mkdtemp(root));
	m = meter_new(root);
	OK(m);
	return m;
}

TEST(meter_puts_sampled_time_beside_the_kernels_own)
{
	struct meter *m = set_up();
	struct window *w = window_new(1);

	for (u32 i = 0; i < 2; i++) {
		/* Met in the first window, read at the end of the second: both begin then. */
		set_exact("web", 4000000 + i * 1000000);
		w = i ? window_new(1) : w;
		ADD(w, 7, "service.name=web\0.cgroup=/web", END_COMPLETE, 10);
		note(m, w);
		EQ(told(m, "cgroup_cpu_exact_ns", "/web"), UINT64_MAX);
	}
	set_exact("web", 5000000 + 1100000);
	w = window_new(2);
	ADD(w, 7, "service.name=web\0.cgroup=/web", END_COMPLETE, 20);
	note(m, w);
	EQ(told(m, "cgroup_cpu_exact_ns", "/web"), 1100 * MS);
	EQ(told(m, "cgroup_cpu_sampled_ns", "/web"), 1000 * MS);
	meter_free(m);
	tear_down();
}

TEST(meter_counts_a_cgroup_with_those_below_it)
{
	struct meter *m = set_up();

	for (u64 i = 1; i < 4; i++) {
		struct window *w = window_new(i);

		set_exact("", i * 1000000);
		set_exact("a", i * 600000);
		set_exact("a/b", i * 400000);
		set_exact("ab", i * 100000);
		ADD(w, 1, ".cgroup=/", END_COMPLETE, 1);
		ADD(w, 2, ".cgroup=/a", END_COMPLETE, 2);
		ADD(w, 3, ".cgroup=/a/b", END_COMPLETE, 4);
		ADD(w, 4, ".cgroup=/ab", END_COMPLETE, 8);
		ADD(w, 5, "service.name=kernel", END_KERNEL_THREAD, 16);
		ADD(w, 6, ".cgroup=/../out", END_COMPLETE, 32);
		note(m, w);
	}
	EQ(told(m, "cgroup_cpu_sampled_ns", "/"), (1 + 2 + 4 + 8 + 16 + 32) * 50 * MS);
	EQ(told(m, "cgroup_cpu_exact_ns", "/"), 1000 * MS);
	EQ(told(m, "cgroup_cpu_sampled_ns", "/a"), (2 + 4) * 50 * MS);
	EQ(told(m, "cgroup_cpu_sampled_ns", "/a/b"), 4 * 50 * MS);
	EQ(told(m, "cgroup_cpu_sampled_ns", "/ab"), 8 * 50 * MS);
	meter_free(m);
	tear_down();
}

TEST(meter_tells_whole_stacks_from_cut_ones_by_service)
{
	struct meter *m = set_up();
	struct window *w = window_new(1);

	ADD(w, 1, "service.name=web", END_COMPLETE, 3);
	ADD(w, 2, "service.name=web", END_NO_MAPPING, 2);
	ADD(w, 3, "x=y", END_COMPLETE, 1);
	note(m, w);
	EQ(told(m, "service_whole_ns", "web"), 150 * MS);
	EQ(told(m, "service_cut_ns", "web"), 100 * MS);
	EQ(told(m, "service_unnamed_ns", "web"), 0);
	EQ(told(m, "service_whole_ns", "prog"), 50 * MS);
	meter_free(m);
	tear_down();
}

TEST(meter_joins_what_does_not_fit)
{
	struct meter *m = set_up();
	struct window *w = window_new(1);
	u64 sum = 0;
	struct counter_value values[METER_VALUES];
	u32 count;

	for (u32 i = 0; i < 3 * METER_ROWS; i++) {
		char text[32];
		int len = snprintf(text, sizeof(text), "service.name=s%u", i);

		add(w, i + 1, text, (u32)len + 1, END_COMPLETE, 1);
	}
	note(m, w);
	count = meter_counters(m, values);
	OK(count <= METER_VALUES);
	for (u32 i = 0; i < count; i++)
		sum += values[i].value;
	EQ(sum, 3 * METER_ROWS * 50 * MS);
	EQ(told(m, "service_whole_ns", "(other)"), (2 * METER_ROWS + 1) * 50 * MS);
	meter_free(m);
	tear_down();
}
