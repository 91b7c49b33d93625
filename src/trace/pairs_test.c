// SPDX-License-Identifier: Apache-2.0
#include "trace/pairs.h"

#include "test.h"
#include "trace/window.h"

static struct binary *no_binary(void *arg, u32 id)
{
	return NULL;
}

static struct trace_record record_at(u64 time_ns, u64 value)
{
	return (struct trace_record){ .time_ns = time_ns, .value = value, .cpu = 1, .kind = 8, .comm = "thread" };
}

static void begin(struct pairs *pairs, struct window *w, u64 time_ns)
{
	struct window_process about = { .pid = 42, .comm = "comm", .exe_path = "/bin/x", .command_line = "" };
	struct trace_record record = record_at(time_ns, 1);
	u64 user[1] = { 0x1000 + time_ns };

	window_add(w, window_process(w, 7, &about), &record, NULL, user, 1, END_COMPLETE, no_binary, NULL);
	pairs_begin(pairs, &record, w);
}

static void end(struct pairs *pairs, struct window *w, u64 time_ns, u64 value)
{
	struct trace_record record = record_at(time_ns, value);

	pairs_end(pairs, &record, w);
}

TEST(pairs_give_a_start_the_value_of_its_end)
{
	struct window *w = window_new(0);
	struct pairs pairs = { 0 };

	begin(&pairs, w, 10);
	begin(&pairs, w, 20);
	end(&pairs, w, 20, 500);
	end(&pairs, w, 10, 700);
	EQ(w->times[0].value, 700);
	EQ(w->times[1].value, 500);
	EQ(w->is_weighed, true);
	EQ(pairs.open, 0);
	pairs_done(&pairs);
	window_free(w);
}

TEST(pairs_take_an_end_that_comes_before_its_start)
{
	struct window *w = window_new(0);
	struct pairs pairs = { 0 };

	end(&pairs, w, 10, 700);
	end(&pairs, w, 10, 900);	/* there is one only */
	begin(&pairs, w, 10);
	EQ(w->times[0].value, 700);
	EQ(pairs.open, 0);
	pairs_done(&pairs);
	window_free(w);
}

TEST(pairs_that_are_open_move_to_the_next_window)
{
	struct window *w = window_new(0), *next = window_new(100);
	struct pairs pairs = { 0 };

	begin(&pairs, w, 10);
	begin(&pairs, w, 20);
	begin(&pairs, w, 30);
	end(&pairs, w, 20, 500);
	pairs_move(&pairs, w, next);
	EQ(w->time_count, 1);
	EQ(w->times[0].value, 500);
	EQ(next->time_count, 2);
	end(&pairs, next, 10, 1);
	end(&pairs, next, 30, 3);
	for (u32 i = 0; i < 2; i++) {
		const struct window_sample *sample = window_sample(next, next->times[i].sample);
		const struct window_stack *stack = window_stack(next, sample->stack);

		EQ(next->times[i].value, next->times[i].time_ns / 10);
		EQ(stack->words[0], 0x1000 + next->times[i].time_ns);
		EQ(next->processes[stack->process].pid, 42);
	}
	EQ(pairs.open, 0);
	EQ(pairs.evicted, 0);
	pairs_done(&pairs);
	window_free(w);
	window_free(next);
}

TEST(pairs_that_never_end_are_bounded_and_counted)
{
	struct window *w = window_new(0);
	struct pairs pairs = { 0 };
	u32 max = PAIRS_SETS * PAIRS_WAYS;

	for (u32 i = 0; i < 2 * max; i++)
		end(&pairs, w, 1 + i, 1);
	OK(pairs.open <= max && pairs.open > max / 2);
	EQ(pairs.open + pairs.evicted, 2 * max);
	pairs_done(&pairs);
	window_free(w);
}
