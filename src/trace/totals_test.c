// SPDX-License-Identifier: Apache-2.0
#include "trace/totals.h"

#include <stdlib.h>

#include "kinds/list.h"
#include "test.h"
#include "trace/window.h"

struct rest {
	struct trace_record at[8];
	u32 count;
	bool is_late;
};

static bool is_late(void *arg, u32 pid)
{
	return ((struct rest *)arg)->is_late;
}

static void add_rest(void *arg, const struct trace_record *record)
{
	struct rest *rest = arg;

	rest->at[rest->count++] = *record;
}

static void tell(struct totals *t, u32 tid, u64 run_ns, u64 cpu_wait_ns, u64 all_ns)
{
	struct {
		struct trace_record record;
		struct thread_totals totals;
	} told = { { .pid = 42, .tid = tid, .flags = TRACE_TOTALS, .user_count = 3 }, { run_ns, cpu_wait_ns, all_ns } };

	totals_add(t, &told.record);
}

static void sample(struct window *w, u32 kind, u32 tid, u32 wait, u64 value)
{
	u32 process = window_process(w, 1, &(struct window_process){ .pid = 42, .comm = "", .exe_path = "",
								     .command_line = "" });
	struct trace_record trace = { .tid = tid, .kind = (u8)kind, .value = value, .syscall = 0x7fff,
				      .flags = (u8)(wait << TRACE_WAIT_SHIFT) };

	window_add(w, process, &trace, NULL, NULL, 0, END_COMPLETE, NULL, NULL);
}

TEST(totals_samples_share_what_the_thread_waited_in_all)
{
	struct window *w = window_new(0);
	struct rest rest = { 0 };
	struct totals_ops ops = { 1u << KIND_OFF_CPU, is_late, add_rest, &rest };
	struct totals t;

	totals_init(&t);
	sample(w, KIND_OFF_CPU, 7, WAIT_SLEEP, 10);
	sample(w, KIND_OFF_CPU, 7, WAIT_SLEEP, 30);
	sample(w, KIND_OFF_CPU, 7, WAIT_CPU, 10);
	sample(w, KIND_CPU, 7, WAIT_NOT, 1);
	tell(&t, 7, 1000, 50, 1250);
	totals_share(&t, w, &ops);
	EQ(w->times[0].value, 50);
	EQ(w->times[1].value, 150);
	EQ(w->times[2].value, 50);
	EQ(w->times[3].value, 1);
	EQ(rest.count, 0);
	EQ(t.count, 0);
	totals_done(&t);
	window_free(w);
}

TEST(totals_without_a_sample_are_told_as_such)
{
	struct window *w = window_new(0);
	struct rest rest = { 0 };
	struct totals_ops ops = { 1u << KIND_WALL, is_late, add_rest, &rest };
	struct totals t;

	totals_init(&t);
	sample(w, KIND_WALL, 7, WAIT_NOT, 100);
	tell(&t, 7, 20, 0, 100);
	tell(&t, 7, 10, 5, 100);
	totals_share(&t, w, &ops);
	EQ(w->times[0].value, 30);
	EQ(rest.count, 2);
	EQ(rest.at[0].value, 5);
	EQ(rest.at[0].flags >> TRACE_WAIT_SHIFT, WAIT_CPU);
	EQ(rest.at[1].value, 165);
	EQ(rest.at[1].kind, KIND_WALL);
	totals_done(&t);
	window_free(w);
}

TEST(totals_wait_for_samples_that_come_late)
{
	struct window *w = window_new(0);
	struct rest rest = { .is_late = true };
	struct totals_ops ops = { 1u << KIND_OFF_CPU, is_late, add_rest, &rest };
	struct totals t;

	totals_init(&t);
	tell(&t, 7, 0, 0, 100);
	totals_share(&t, w, &ops);
	EQ(rest.count, 0);
	rest.is_late = false;
	sample(w, KIND_OFF_CPU, 7, WAIT_SLEEP, 1);
	tell(&t, 7, 0, 0, 100);
	totals_share(&t, w, &ops);
	EQ(rest.count, 0);
	EQ(w->times[0].value, 200);
	totals_done(&t);
	window_free(w);
}
