// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * The kernel half, compiled for this machine, in a process of one page of
 * memory. The loop's code is at 0x10000 (rule 1) and C code at 0x10200 (rule
 * 2), each with 64 bytes of stack below its return address.
 */
#define LOOP_VA (CODE_VA + 0x120)
#define C_VA (CODE_VA + 0x220)
#define FRAME_BYTES STACK_BYTES
#define MEMORY_BYTES 0x4000ull
#define STEP_RULES 4
#define STEP_HEADER "lang/python/python_step.h"

#include "base/types.h"

static u32 kept_count;

static void python_keep(u64 code, u64 cookie, u64 file_va)
{
	kept_count++;
}

#include "step_walk.h"

static struct python_slot *slot = (void *)u.slot;

#define THREAD_VA (MEMORY_VA + 0x400)
#define FRAME_VA_OF(i) (MEMORY_VA + 0x1000 + (i) * 0x80)
#define CODE_OF(i) (MEMORY_VA + 0x2000 + (i) * 0x80)

/* As in 3.12 and later, but the layout is the test's own. */
static void setup(u64 frames)
{
	step_setup(LANG_PYTHON, 1, 1, LOOP_VA);
	*slot = (struct python_slot){
		.frames = frames, .tsd = 0x20, .thread_id = 0x10, .top = 0x18, .cframe_frame = 0, .cframe_previous = 8,
		.frame_previous = 8, .frame_code = 0, .frame_instruction = 56, .frame_owner = 70, .code_block = 0x40,
		.code_line = 4, .code_file = 8, .code_name = 16, .code_start = 0x60, .code_mask = ~3ull,
	};
	put(THREAD_POINTER + 0x20, THREAD_VA);
	put(THREAD_VA + 0x10, THREAD_POINTER);
	for (u64 i = 0; i < 16; i++) {
		put(CODE_OF(i) + 0x40, (100 + i) << 32);
		put(CODE_OF(i) + 0x48, 0x1000);
		put(CODE_OF(i) + 0x50, 0x2000 + i);
	}
}

static void put_frame(u64 i, u64 va, u64 previous, u8 owner)
{
	put(va, CODE_OF(i) | 1);
	put(va + 8, previous);
	put(va + 56, CODE_OF(i) + 0x60 + 2 * i);
	put(va + 64, (u64)owner << 48);
}

/* The stack as text: a digit for a frame of Python by its code, L for the loop, c for C, then how it ended. */
static const char *walked(void)
{
	static char text[4096];
	u32 len = 0;

	while (!native_step(&u))
		;
	for (u32 i = 0; i < u.trace.user_count; i++) {
		u64 word = u.words[i];

		if (word >> FRAME_KIND_SHIFT == FRAME_RUNTIME) {
			u64 code = (u.words[++i] - CODE_OF(0)) / 0x80;

			EQ(u.words[i], CODE_OF(code));
			EQ(word >> PYTHON_COOKIE_BITS & PYTHON_INSTRUCTION_MASK, code);
			EQ(word & PYTHON_COOKIE_MASK, python_cookie(0x1000, 0x2000 + code, (u32)(100 + code)));
			text[len++] = (char)('0' + code);
		} else {
			text[len++] = (word & FRAME_EA_MASK) >> 8 == 1 ? 'L' : 'c';
		}
	}
	snprintf(text + len, sizeof(text) - len, "%s",
		 u.trace.end == END_COMPLETE ? "" : u.trace.end == END_RUNTIME ? " broken" : " cut");
	return text;
}

#define SHIM_OF(i) (STACK_VA + (i) * FRAME_BYTES + 8)	/* in the i-th C frame */

/* Functions 1 and 2 in a run, C code, then function 3 in another. */
static void put_two_runs(void)
{
	STACK(C_VA, LOOP_VA, C_VA, CODE_VA + 0x310);
	put(THREAD_VA + 0x18, FRAME_VA_OF(0));
	put_frame(1, FRAME_VA_OF(0), FRAME_VA_OF(1), 0);
	put_frame(2, FRAME_VA_OF(1), SHIM_OF(0), 1);
	put(SHIM_OF(0) + 8, FRAME_VA_OF(2));
	put(SHIM_OF(0) + 64, 3ull << 48);
	put_frame(3, FRAME_VA_OF(2), SHIM_OF(2), 0);
	put(SHIM_OF(2) + 64, 3ull << 48);
}

TEST(python_step_puts_functions_between_the_c_code_that_calls_them)
{
	setup(PYTHON_SHIMS);
	put_two_runs();
	STREQ(walked(), "12c3cc");
}

TEST(python_step_keeps_the_objects_of_frames_that_are_new)
{
	u64 met[MET_MAX];

	setup(PYTHON_SHIMS);
	put_two_runs();
	kept_count = 0;
	STREQ(walked(), "12c3cc");
	EQ(kept_count, 3);
	/* The same stack once more, as the next sample of this CPU. */
	memcpy(met, u.met, sizeof(met));
	setup(PYTHON_SHIMS);
	put_two_runs();
	memcpy(u.met, met, sizeof(met));
	STREQ(walked(), "12c3cc");
	EQ(kept_count, 3);
	/* That of a child, which has all of it at the same addresses. */
	setup(PYTHON_SHIMS);
	put_two_runs();
	memcpy(u.met, met, sizeof(met));
	u.trace.pid = 2;
	STREQ(walked(), "12c3cc");
	EQ(kept_count, 6);
}

/* A run of that many frames, each so many bytes below its callee; the last ones at `low`. */
static void put_run(u64 low, u64 stride, u32 count)
{
	STACK(CODE_VA + 0x310);
	put(THREAD_VA + 0x18, low + (count - 1) * stride);
	for (u32 i = 0; i < count; i++)
		put_frame(1 + i / 4, low + i * stride, i ? low + (i - 1) * stride : SHIM_OF(0), 0);
	put(SHIM_OF(0) + 64, 3ull << 48);
}

TEST(python_step_reads_frames_that_lie_together_at_once)
{
	u32 alone;

	setup(PYTHON_SHIMS);
	put_run(MEMORY_VA + 0x500, 0x400, 1);
	read_count = 0;
	STREQ(walked(), "1c");
	alone = read_count;
	setup(PYTHON_SHIMS);
	put_run(MEMORY_VA + 0x800, 0x60, 16);
	read_count = 0;
	STREQ(walked(), "4444333322221111c");
	/* Four objects of code; the first frame, then each time as many as the window holds. */
	EQ(read_count - alone, 3 + 3);
	/* Farther apart than the window is long. */
	setup(PYTHON_SHIMS);
	put_run(MEMORY_VA + 0x600, 0x200, 5);
	STREQ(walked(), "21111c");
}

TEST(python_step_reads_a_frame_alone_where_memory_begins)
{
	setup(PYTHON_SHIMS);
	put_run(MEMORY_VA + 8, 0x60, 2);
	STREQ(walked(), "11c");
}

TEST(python_step_shows_a_run_without_frames_as_c)
{
	/* The loop was just called: its shim is not linked yet. */
	setup(PYTHON_SHIMS);
	STACK(C_VA, LOOP_VA, C_VA, CODE_VA + 0x310);
	put(THREAD_VA + 0x18, FRAME_VA_OF(2));
	put_frame(3, FRAME_VA_OF(2), SHIM_OF(2), 0);
	put(SHIM_OF(2) + 64, 3ull << 48);
	STREQ(walked(), "Lc3cc");
}

TEST(python_step_passes_runs_that_another_program_has_walked)
{
	setup(PYTHON_SHIMS);
	put_two_runs();
	u.regs.pc = C_VA;
	u.regs.reg[REG_SP] = STACK_VA + FRAME_BYTES;
	STREQ(walked(), "c3cc");
}

TEST(python_step_follows_the_cframes_of_3_12)
{
	u64 cframe[] = { STACK_VA + 0x10, STACK_VA + 2 * FRAME_BYTES + 0x10 };

	setup(PYTHON_CSHIMS);
	put_two_runs();
	put(THREAD_VA + 0x18, cframe[0]);
	put_frame(2, FRAME_VA_OF(1), FRAME_VA_OF(5), 0);
	put_frame(9, FRAME_VA_OF(5), 0, 3);
	put_frame(3, FRAME_VA_OF(2), FRAME_VA_OF(5), 0);
	put(cframe[0], FRAME_VA_OF(0));
	put(cframe[0] + 8, cframe[1]);
	put(cframe[1], FRAME_VA_OF(2));
	put(cframe[1] + 8, 0);
	STREQ(walked(), "12c3cc");
}

TEST(python_step_ends_runs_of_3_11_at_their_entry)
{
	u64 cframe[] = { STACK_VA + 0x10, STACK_VA + 2 * FRAME_BYTES + 0x10 };

	setup(PYTHON_ENTRIES);
	STACK(C_VA, LOOP_VA, C_VA, CODE_VA + 0x310);
	put(THREAD_VA + 0x18, cframe[0]);
	put_frame(1, FRAME_VA_OF(0), FRAME_VA_OF(1), 0);
	put_frame(2, FRAME_VA_OF(1), FRAME_VA_OF(2), 1);
	put_frame(3, FRAME_VA_OF(2), 0, 1);
	put(cframe[0], FRAME_VA_OF(0));
	put(cframe[0] + 8, cframe[1]);
	put(cframe[1], FRAME_VA_OF(2));
	STREQ(walked(), "12c3cc");
}

TEST(python_step_gives_each_run_of_3_10_one_function)
{
	setup(PYTHON_OBJECTS);
	slot->instruction_shift = 1;
	STACK(LOOP_VA, C_VA, LOOP_VA, CODE_VA + 0x310);
	put(THREAD_VA + 0x18, FRAME_VA_OF(0));
	for (u64 i = 0; i < 3; i++) {
		put_frame(i + 1, FRAME_VA_OF(i), i < 2 ? FRAME_VA_OF(i + 1) : 0, 0);
		put(FRAME_VA_OF(i) + 56, 2 * (i + 1));
	}
	STREQ(walked(), "12c3c");
}

TEST(python_step_knows_the_thread_that_holds_the_lock)
{
	u64 other = MEMORY_VA + 0x600;

	setup(PYTHON_SHIMS);
	STACK(CODE_VA + 0x310);
	slot->current_va = MEMORY_VA + 0x700;
	put(slot->current_va, other);
	put(other + 0x10, THREAD_POINTER);
	put(other + 0x18, FRAME_VA_OF(4));
	put_frame(5, FRAME_VA_OF(4), SHIM_OF(0), 0);
	put(SHIM_OF(0) + 64, 3ull << 48);
	STREQ(walked(), "5c");
	/* ... which may be another: then libc's value counts. */
	setup(PYTHON_SHIMS);
	put_two_runs();
	slot->current_va = MEMORY_VA + 0x700;
	put(slot->current_va, other);
	put(other + 0x10, 0x1234);
	STREQ(walked(), "12c3cc");
}

TEST(python_step_knows_a_thread_that_lies_before_its_pointer)
{
	setup(PYTHON_SHIMS);
	put_two_runs();
	slot->self = -0x40ull;
	STREQ(walked(), "LcLcc");
	setup(PYTHON_SHIMS);
	put_two_runs();
	slot->self = -0x40ull;
	put(THREAD_VA + 0x10, THREAD_POINTER - 0x40);
	STREQ(walked(), "12c3cc");
}

TEST(python_step_looks_at_a_second_variable_of_the_thread)
{
	setup(PYTHON_SHIMS);
	put_two_runs();
	put(THREAD_POINTER + 0x20, 0);
	put(THREAD_POINTER - 0x10, THREAD_VA);
	slot->tsd_other = -0x10ull;
	STREQ(walked(), "12c3cc");
}

/* Free-threaded: the instructions that run are a thread's own copy. */
TEST(python_step_counts_instructions_in_the_copy_of_the_thread)
{
	u64 copies = MEMORY_VA + 0x800, copy = MEMORY_VA + 0x900;

	setup(PYTHON_SHIMS);
	put_run(MEMORY_VA + 0xc00, 0x60, 1);
	slot->copies = 0x30;
	slot->frame_copy = 64;
	put(CODE_OF(1) + 0x30, copies);
	put(copies, 3);
	put(copies + 8 + 2 * 8, copy);
	put(MEMORY_VA + 0xc00 + 56, copy + 2);
	put(MEMORY_VA + 0xc00 + 64, 2);
	STREQ(walked(), "1c");
	/* One that there is not: the line is that of the function. */
	setup(PYTHON_SHIMS);
	put_run(MEMORY_VA + 0xc00, 0x60, 1);
	slot->copies = 0x30;
	slot->frame_copy = 64;
	put(CODE_OF(1) + 0x30, copies);
	put(copies, 3);
	put(MEMORY_VA + 0xc00 + 64, 3);
	while (!native_step(&u))
		;
	EQ(u.words[0] >> PYTHON_COOKIE_BITS & PYTHON_INSTRUCTION_MASK, PYTHON_INSTRUCTION_NONE);
}

TEST(python_step_leaves_threads_without_python_native)
{
	setup(PYTHON_SHIMS);
	put_two_runs();
	put(THREAD_POINTER + 0x20, 0);
	STREQ(walked(), "LcLcc");
}

TEST(python_step_hides_code_without_a_file)
{
	setup(PYTHON_SHIMS);
	put_two_runs();
	put(CODE_OF(2) + 0x50, 0x1000);
	STREQ(walked(), "1c3cc");
}

TEST(python_step_stops_at_what_cannot_be)
{
	setup(PYTHON_SHIMS);
	put_two_runs();
	put(FRAME_VA_OF(1) + 8, 0x10);
	STREQ(walked(), "12 broken");
	/* A frame without code. */
	setup(PYTHON_SHIMS);
	put_two_runs();
	put(FRAME_VA_OF(1), 0);
	STREQ(walked(), "1 broken");
	/* Frames in a circle. */
	setup(PYTHON_SHIMS);
	put_two_runs();
	put(FRAME_VA_OF(1) + 8, FRAME_VA_OF(0));
	OK(strstr(walked(), " cut"));
	EQ(u.trace.end, END_TRUNCATED);
	/* ... none of which is shown. */
	setup(PYTHON_SHIMS);
	put_two_runs();
	put(FRAME_VA_OF(1) + 8, FRAME_VA_OF(1));
	put(CODE_OF(2) + 0x50, 0x1000);
	read_count = 0;
	STREQ(walked(), "1 broken");
	OK(read_count < 3 * PYTHON_FRAMES_MAX);
}

#define TASK_OF(i) (MEMORY_VA + 0x800 + (i) * 0x40)
#define COROUTINE_OF(i) (FRAME_VA_OF(i) - 0x20)
#define COROUTINE_TYPE 0x4444

/* A coroutine whose frame is number i, and what it awaits. */
static void put_coroutine(u64 i, u64 awaited)
{
	put(COROUTINE_OF(i) + 8, COROUTINE_TYPE);
	put_frame(i, FRAME_VA_OF(i), 0, PYTHON_OWNER_GENERATOR);
	put(FRAME_VA_OF(i) + 48, FRAME_VA_OF(i) + 0x58);
	put(FRAME_VA_OF(i) + 0x50, awaited);
}

/* Function 2 of two runs is the coroutine of task 0. Task 1, in coroutines 5 and 6, awaits it; task 2, in 7, that. */
static void put_tasks(void)
{
	const u64 coroutine[] = { COROUTINE_OF(1), COROUTINE_OF(5), COROUTINE_OF(7) };

	put_two_runs();
	slot->running_task = 0x28;
	slot->task_awaited_by = 0x10;
	slot->task_coroutine = 0x18;
	slot->task_is_task = 0x21;
	slot->task_has_set = 0x22;
	slot->generator_frame = 0x20;
	slot->frame_stack = 48;
	slot->awaited_below = 8;
	slot->object_type = 8;
	put(THREAD_VA + 0x28, TASK_OF(0));
	for (u64 i = 0; i < 3; i++) {
		put(TASK_OF(i) + 0x10, i < 2 ? TASK_OF(i + 1) : 0);
		put(TASK_OF(i) + 0x18, coroutine[i]);
		put(TASK_OF(i) + 0x20, 0x100);
	}
	put_coroutine(5, COROUTINE_OF(6) | 1);
	put_coroutine(6, TASK_OF(0));
	put_coroutine(7, TASK_OF(1));
}

static void setup_tasks(void)
{
	setup(PYTHON_SHIMS);
	put_tasks();
}

TEST(python_step_shows_the_tasks_that_await_the_running_one)
{
	setup_tasks();
	STREQ(walked(), "12657c3cc");
	/* As in 3.15. */
	setup_tasks();
	slot->awaited_below = 16;
	put(FRAME_VA_OF(5) + 0x48, COROUTINE_OF(6) | 1);
	put(FRAME_VA_OF(5) + 0x50, 1);
	STREQ(walked(), "12657c3cc");
}

TEST(python_step_shows_no_tasks_if_they_are_not_wanted)
{
	setup_tasks();
	slot->running_task = 0;
	STREQ(walked(), "12c3cc");
	/* Or if none is running, or another than the one whose frames these are. */
	setup_tasks();
	put(THREAD_VA + 0x28, 0);
	STREQ(walked(), "12c3cc");
	setup_tasks();
	put(THREAD_VA + 0x28, TASK_OF(2));
	STREQ(walked(), "12c3cc");
}

TEST(python_step_ends_the_tasks_where_it_cannot_tell_who_awaits)
{
	/* Several of them. */
	setup_tasks();
	put(TASK_OF(1) + 0x20, 0x010100);
	STREQ(walked(), "1265c3cc");
	/* A future that is no task. */
	setup_tasks();
	put(TASK_OF(1) + 0x20, 0);
	STREQ(walked(), "12c3cc");
	/* What is awaited is no coroutine; what runs is no generator's frame; nothing is there. */
	setup_tasks();
	put(COROUTINE_OF(6) + 8, COROUTINE_TYPE + 8);
	STREQ(walked(), "1257c3cc");
	setup_tasks();
	put(FRAME_VA_OF(7) + 64, 0);
	STREQ(walked(), "1265c3cc");
	setup_tasks();
	put(TASK_OF(1) + 0x18, 0x10);
	STREQ(walked(), "12c3cc");
	setup_tasks();
	put(TASK_OF(0) + 0x10, 0x10);
	STREQ(walked(), "12c3cc");
}

TEST(python_step_bounds_tasks_and_coroutines_that_go_in_circles)
{
	setup_tasks();
	put(TASK_OF(2) + 0x10, TASK_OF(2));
	STREQ(walked(), "12657777777c3cc");
	setup_tasks();
	put_coroutine(6, COROUTINE_OF(8));
	put_coroutine(8, COROUTINE_OF(6));
	STREQ(walked(), "1268686868686868657c3cc");
	/* The outermost one ends it. */
	setup_tasks();
	put_coroutine(6, COROUTINE_OF(5));
	STREQ(walked(), "12657c3cc");
}

TEST(python_step_takes_back_tasks_with_their_run)
{
	/* The loop was just called from C code that function 2 has called: what there is belongs to an outer run. */
	setup_tasks();
	STACK(C_VA, LOOP_VA, C_VA, CODE_VA + 0x310);
	put_frame(2, FRAME_VA_OF(1), SHIM_OF(2), 1);
	STREQ(walked(), "Lc12657cc");
}

/* Any bytes at all: it must end, and stay in its arrays (under the sanitizers). */
TEST(python_step_survives_any_memory)
{
	u32 seed = 1;

	for (u32 round = 0; round < 4000; round++) {
		setup(round % 4);
		put_tasks();
		if (round % 4 == PYTHON_ENTRIES || round % 4 == PYTHON_CSHIMS)
			put(THREAD_VA + 0x18, SHIM_OF(0));
		for (u32 i = 0; i < 1 + round % 40; i++) {
			u32 at;

			seed = seed * 1103515245 + 12345;
			at = 0x800 + (seed >> 8) % (MEMORY_BYTES - 0x808);
			if (seed & 1)
				memory[at] = (u8)(seed >> 4);
			else
				put(MEMORY_VA + (at & ~7u), MEMORY_VA + (seed >> 3) % MEMORY_BYTES);
		}
		for (u32 steps = 0; !native_step(&u); steps++)
			OK(steps < 100000);
		OK(u.trace.user_count <= USER_WORDS_MAX);
	}
}
