// SPDX-License-Identifier: Apache-2.0
#include "trace/window.h"

#include <stdlib.h>

#include "proc/binary.h"
#include "test.h"

static struct binary *no_binary(void *arg, u32 id)
{
	return NULL;
}

static u32 process(struct window *w, u64 serial)
{
	return window_process(w, serial, &(struct window_process){ .pid = 42, .comm = "comm", .exe_path = "/bin/x",
									  .command_line = "x -y" });
}

static void add(struct window *w, u32 index, u64 leaf, u32 tid, u64 time_ns)
{
	struct trace_record trace = { .time_ns = time_ns, .tid = tid, .kernel_count = 1, .comm = "thread" };
	u64 kernel[1] = { 0xffff800000000000ull }, user[2] = { leaf, 0x2000 };

	window_add(w, index, &trace, kernel, user, 2, END_COMPLETE, no_binary, NULL);
}

TEST(window_keeps_equal_stacks_once)
{
	struct window *w = window_new(0);
	u32 index = process(w, 1);

	add(w, index, 0x1000, 5, 100);
	add(w, index, 0x1000, 5, 200);
	add(w, index, 0x1000, 6, 300);
	add(w, index, 0x1001, 5, 400);
	EQ(w->stack_keys.count, 2);
	EQ(w->sample_keys.count, 3);
	EQ(w->time_count, 4);
	EQ(w->times[1].sample, 0);
	EQ(w->times[1].time_ns, 200);
	EQ(window_stack(w, 1)->words[1], 0x1001);
	EQ(window_stack(w, 0)->kernel_count, 1);
	EQ(w->ends[END_COMPLETE], 4);
	STREQ(window_sample(w, 0)->comm, "thread");
	window_free(w);
}

/* What its thread says is behind the kernel's words; bytes past its attributes do not count. */
static void add_request(struct window *w, u32 index, u8 span, u8 tail, u16 attribute_bytes)
{
	struct { u64 kernel; struct request_record record; u8 attributes[12]; } words = {
		0xffff800000000000ull, { { 1 }, { span }, 1, 0, attribute_bytes }, { 0, 1, 'x', tail } };
	struct trace_record trace = { .kernel_count = 6, .request_words = 5, .comm = "thread" };

	window_add(w, index, &trace, &words.kernel, NULL, 0, END_COMPLETE, no_binary, NULL);
}

/* A label behind the kernel's words; bytes past its text do not count. */
static void add_label(struct window *w, u32 index, u64 value, u64 time_ns)
{
	struct { u64 kernel; struct thread_label label; u64 value; } words = {
		0xffff800000000000ull, { 1, THREAD_LABEL_U64, 8, 0 }, value };
	struct trace_record trace = { .time_ns = time_ns, .kernel_count = 3, .label_words = 2, .value = 1,
				      .comm = "thread" };

	window_add(w, index, &trace, &words.kernel, NULL, 0, END_COMPLETE, no_binary, NULL);
}

TEST(window_tells_samples_of_different_labels_apart)
{
	struct window *w = window_new(0), *next = window_new(0);
	u32 index = process(w, 1), other = process(w, 2);

	add_label(w, index, 7, 1);
	add_label(w, index, 8, 2);
	add_label(w, index, 7, 3);
	add_label(w, other, 7, 4);
	EQ(w->stack_keys.count, 2);
	EQ(window_stack(w, 0)->kernel_count, 1);
	EQ(w->sample_keys.count, 3);
	EQ(w->label_keys.count, 2);
	EQ(w->times[2].sample, 0);
	OK(window_thread_labels(w, window_sample(w, 0)));
	OK(window_move(w, 1, next));
	EQ(next->label_keys.count, 1);
	EQ(window_stack(next, 0)->kernel_count, 1);
	window_free(next);
	window_free(w);
}

TEST(window_takes_no_more_values_of_labels_of_a_process_than_fit)
{
	struct window *w = window_new(0);
	u32 index = process(w, 1), other = process(w, 2);

	for (u32 i = 0; i < 3 * WINDOW_PROCESS_LABELS_MAX; i++)
		add_label(w, index, i, i + 1);
	EQ(w->label_keys.count, WINDOW_PROCESS_LABELS_MAX + 1);	/* and what says that there are more */
	EQ(w->sample_keys.count, WINDOW_PROCESS_LABELS_MAX + 1);
	EQ(w->labels_lost, 2 * WINDOW_PROCESS_LABELS_MAX);
	EQ(w->time_count, 3 * WINDOW_PROCESS_LABELS_MAX);
	EQ(w->lost, 0);
	/* Others have theirs. */
	add_label(w, other, 1u << 20, 1);
	EQ(w->labels_lost, 2 * WINDOW_PROCESS_LABELS_MAX);
	window_free(w);
}

TEST(window_tells_samples_of_different_requests_apart)
{
	struct window *w = window_new(0);
	u32 index = process(w, 1);

	add_request(w, index, 7, 1, 3);
	add_request(w, index, 7, 2, 3);
	add_request(w, index, 8, 1, 3);
	add_request(w, index, 8, 1, 400);	/* more than there is */
	EQ(w->stack_keys.count, 1);
	EQ(window_stack(w, 0)->kernel_count, 1);
	EQ(w->sample_keys.count, 3);
	EQ(window_request(w, window_sample(w, 0))->len, sizeof(struct request_record) + 3);
	OK(!window_request(w, window_sample(w, 2)));
	window_free(w);
}

TEST(window_never_mixes_kinds_and_keeps_each_value)
{
	struct window *w = window_new(0);
	struct trace_record trace = { .comm = "thread", .value = 1 };
	u32 index = process(w, 1);

	window_add(w, index, &trace, NULL, NULL, 0, END_COMPLETE, no_binary, NULL);
	OK(!w->is_weighed);
	trace.kind = 1;
	trace.value = 7;
	window_add(w, index, &trace, NULL, NULL, 0, END_COMPLETE, no_binary, NULL);
	trace.value = ~0ull;
	window_add(w, index, &trace, NULL, NULL, 0, END_COMPLETE, no_binary, NULL);
	OK(w->is_weighed);
	EQ(w->stack_keys.count, 1);
	EQ(w->sample_keys.count, 2);
	EQ(w->times[1].sample, 1);
	EQ(w->times[1].value, 7);
	EQ(w->times[2].value, WINDOW_VALUE_MAX);
	EQ(window_sample(w, 1)->kind, 1);
	window_free(w);
}

TEST(window_never_mixes_processes)
{
	struct window *w = window_new(0);
	u32 one = process(w, 1), two = process(w, 2);

	EQ(process(w, 1), one);
	add(w, one, 0x1000, 5, 100);
	add(w, two, 0x1000, 5, 100);
	EQ(w->stack_keys.count, 2);
	EQ(w->process_count, 2);
	STREQ(w->processes[two].exe_path, "/bin/x");
	STREQ(w->processes[two].command_line, "x -y");
	window_free(w);
}

static struct binary *find_binary(void *arg, u32 id)
{
	return arg;
}

TEST(window_holds_the_binaries_of_its_frames)
{
	struct binary *binary = calloc(1, sizeof(*binary));
	struct window *w = window_new(0);
	struct trace_record trace = { .comm = "x" };
	u64 frame = (u64)FRAME_EXE << FRAME_KIND_SHIFT | 9ull << FRAME_BINARY_SHIFT | 0x10;

	binary->id = 9;
	binary->fd = binary->root_fd = -1;
	atomic_init(&binary->refs, 1);
	window_add(w, process(w, 1), &trace, NULL, &frame, 1, END_COMPLETE, find_binary, binary);
	window_add(w, process(w, 1), &trace, NULL, &frame, 1, END_COMPLETE, find_binary, binary);
	EQ(atomic_load(&binary->refs), 2);
	OK(window_binary(w, 9) == binary);
	OK(!window_binary(w, 8));
	window_free(w);
	EQ(atomic_load(&binary->refs), 1);
	binary_unref(binary);
}

static void fill(void)
{
	struct window *w = window_new(0);

	if (!w)
		return;
	for (u64 i = 0; i < 100; i++)
		add(w, process(w, i / 10), i, 1, i);
	EQ(w->time_count + w->lost, 100);
	window_free(w);
}

TEST(window_counts_what_it_has_no_memory_for)
{
	long asked;

	test_alloc_fail(-1);
	fill();
	asked = test_alloc_reset();
	for (long i = 0; i < asked; i++) {
		test_alloc_fail(i);
		fill();
		test_alloc_reset();
	}
}

TEST(window_frames_have_one_number_in_each_window)
{
	struct window_line line = { "f", "a.py", 3 };
	struct window_frame frame = { .type = "test", .line_count = 1, .lines = &line }, other = frame;
	struct window *first = window_new(1), *second = window_new(2);
	u64 word = window_name_frame(first, &frame);

	EQ(window_name_frame(first, &frame), word);
	OK(window_name_frame(first, &other) != word);
	EQ(first->frame_count, 2);
	STREQ(window_frame(first, word)->lines[0].function, "f");
	OK(!window_frame(second, word));
	word = window_name_frame(second, &other);
	line.function = "changed";
	STREQ(window_frame(second, word)->lines[0].function, "f");
	window_free(first);
	window_free(second);
}

TEST(window_takes_the_last_description_of_a_process)
{
	struct window *w = window_new(1);
	struct window_process process = { .pid = 1, .comm = "x", .exe_path = "", .command_line = "",
					  .description = "a=1", .description_bytes = 4, .description_number = 1 };

	EQ(window_process(w, 7, &process), 0);
	process.description = "a=2";
	EQ(window_process(w, 7, &process), 0);
	STREQ(w->processes[0].description, "a=1");
	process.description_number = 2;
	EQ(window_process(w, 7, &process), 0);
	STREQ(w->processes[0].description, "a=2");
	window_free(w);
}

static void add_waker(struct window *w, u32 index, u64 leaf, u64 wake)
{
	struct trace_record trace = { .tid = 9, .wake = wake, .comm = "waker",
				      .flags = WAIT_WAKES << TRACE_WAIT_SHIFT };

	window_add_waker(w, index, &trace, NULL, &leaf, 1, END_COMPLETE, no_binary, NULL);
}

static void add_wait(struct window *w, u32 index, u64 wake)
{
	struct trace_record trace = { .tid = 5, .wake = wake, .comm = "x", .flags = WAIT_SLEEP << TRACE_WAIT_SHIFT };
	u64 leaf = 0x1000;

	window_add(w, index, &trace, NULL, &leaf, 1, END_COMPLETE, no_binary, NULL);
}

TEST(window_tells_waits_who_ended_them_whichever_came_first)
{
	struct window *w = window_new(0);
	u32 index = process(w, 1), other = process(w, 2);
	const struct window_waker *waker;

	add_waker(w, other, 0x3000, 77);
	add_wait(w, index, 77);
	add_wait(w, index, 78);
	add_wait(w, index, 79);
	add_wait(w, index, 0);
	add_wait(w, index, WAKE_INTERRUPT);
	add_waker(w, other, 0x4000, 78);
	EQ(w->time_count, 5);
	window_join_wakers(w);
	for (u32 i = 0; i < 2; i++) {
		waker = window_waker(w, window_sample(w, (u32)w->times[i].sample));
		OK(waker != NULL);
		EQ(waker->tid, 9);
		EQ(window_stack(w, waker->stack)->process, other);
		EQ(window_stack(w, waker->stack)->words[0], i ? 0x4000 : 0x3000);
	}
	OK(!window_waker(w, window_sample(w, (u32)w->times[2].sample)));
	OK(!window_waker(w, window_sample(w, (u32)w->times[3].sample)));
	waker = window_waker(w, window_sample(w, (u32)w->times[4].sample));
	STREQ(waker->comm, "[interrupt]");
	EQ(waker->stack, INTERNER_NONE);
	EQ(w->wakers_unknown, 1);
	window_free(w);
}

TEST(window_tells_samples_of_different_clocks_apart)
{
	struct window *w = window_new(0);
	u32 index = process(w, 1);
	struct trace_record trace = { .value = 1, .comm = "thread" };

	for (u32 i = 0; i <= WINDOW_CLOCKS_MAX + 1; i++) {
		trace.clock_hz = (u16)(i * 10);
		window_add(w, index, &trace, NULL, NULL, 0, END_COMPLETE, no_binary, NULL);
	}
	EQ(w->stack_keys.count, 1);
	EQ(w->clock_count, WINDOW_CLOCKS_MAX);
	EQ(w->sample_keys.count, WINDOW_CLOCKS_MAX + 1);
	EQ(w->lost, 1);
	EQ(window_period_ns(w, window_sample(w, 0), 7), 7);
	EQ(window_period_ns(w, window_sample(w, 1), 7), 100000000);
	EQ(window_period_ns(w, window_sample(w, 2), 7), 50000000);
	window_free(w);
}
