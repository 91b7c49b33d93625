// SPDX-License-Identifier: Apache-2.0
#include "tracer/waiting.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "proc/processes.h"
#include "test.h"
#include "tracer/record.h"

static struct trace_record *make_slice(u64 time_ns, u32 bytes)
{
	struct trace_record *r = calloc(1, sizeof(*r) + sizeof(struct slice_regs) + bytes);

	*r = (struct trace_record){ .time_ns = time_ns, .end = END_SLICE, .slice_bytes = bytes };
	return r;
}

static void add(struct waiting *w, u64 time_ns, u32 bytes)
{
	_cleanup_(freep) struct trace_record *record = make_slice(time_ns, bytes);

	waiting_add(w, record, record_bytes(record));
}

TEST(waiting_records_come_in_order_of_time_and_go_as_told)
{
	struct waiting w;

	waiting_init(&w, 0);
	for (u64 time_ns = 5; time_ns > 0; time_ns--)
		add(&w, time_ns, 0);
	waiting_sort(&w);
	EQ(w.at[0].time_ns, 1);
	for (u32 i = 0; i < 3; i++)
		if (i != 1)
			waiting_release(&w, NULL, &w.at[i]);
	w.at[0] = w.at[1];		/* of the first three the second is left */
	waiting_keep(&w, 1, 3);
	EQ(w.count, 3);
	EQ(w.at[0].time_ns, 2);
	EQ(w.at[1].time_ns, 4);
	EQ(w.at[2].time_ns, 5);
	waiting_done(&w, NULL);
}

TEST(waiting_records_have_a_maximum_and_are_counted_past_it)
{
	struct waiting w;
	u32 count = 0;

	waiting_init(&w, 0);
	while (!w.full && count++ < 1000000)
		add(&w, count, SLICE_BYTES_MAX);
	OK(w.bytes <= WAITING_BYTES_MAX);
	OK(w.count > WAITING_BYTES_MAX / SLICE_BYTES_MAX / 2);	/* the last ones without their slices */
	EQ(w.full, 1);
	while (w.count) {
		waiting_release(&w, NULL, &w.at[w.count - 1]);
		waiting_keep(&w, w.count - 1, w.count);
	}
	EQ(w.bytes, 0);
	waiting_done(&w, NULL);
}

/* As many slices as a process gets to hold, in MiB. */
static u32 fill(struct waiting *w, struct process *p)
{
	u32 before = p->waiting_bytes;

	for (u32 i = 0; i < 1000; i++) {
		add(w, i, SLICE_BYTES_MAX);
		if (w->full || !waiting_has_room(w, p, &w->at[w->count - 1]))
			break;
		waiting_hold(w, &w->at[w->count - 1], p);
	}
	return (p->waiting_bytes - before) >> 20;
}

TEST(waiting_records_of_one_process_leave_room_for_those_of_others)
{
	struct process processes[3] = { 0 };
	struct waiting w;

	waiting_init(&w, 0);
	OK(fill(&w, &processes[0]) >= 8);	/* two thirds of 14 */
	OK(fill(&w, &processes[1]) >= 2);
	OK(w.for_files_bytes < WAITING_BYTES_MAX);
	OK(waiting_has_room(&w, &processes[0], &w.at[0]));
	OK(waiting_has_room(&w, &processes[2], &w.at[w.count - 1]));
	waiting_done(&w, NULL);
}

TEST(waiting_records_take_as_much_as_they_are_given)
{
	struct process process = { 0 };
	struct waiting w;

	waiting_init(&w, (size_t)3 << 20);
	(void)fill(&w, &process);
	OK(w.bytes <= (size_t)3 << 20);
	OK(process.waiting_bytes > 1 << 20);
	waiting_done(&w, NULL);
}

TEST(waiting_slices_are_shortened_rather_than_others_refused)
{
	struct process process = { 0 };
	struct waiting w;
	u32 held = 0;

	waiting_init(&w, 0);
	for (; held < 1000; held++) {
		add(&w, held, SLICE_BYTES_MAX);
		waiting_shorten(&w);
		if (!waiting_has_room(&w, &process, &w.at[held]))
			break;
		waiting_hold(&w, &w.at[held], &process);
	}
	EQ(held, 1000);
	OK(w.bytes <= WAITING_BYTES_MAX);
	for (u32 i = 0; i < held; i++)
		OK(w.at[i].record->slice_bytes >= 3 * SLICE_STEP_BYTES);
	for (; w.count; waiting_keep(&w, w.count - 1, w.count))
		waiting_release(&w, NULL, &w.at[w.count - 1]);
	EQ(w.bytes, 0);
	EQ(w.for_files_bytes, 0);
	EQ(process.waiting_bytes, 0);
	waiting_done(&w, NULL);
}
