// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * The kernel half, compiled for this machine, in a process with a made-up BEAM. Native code is at 0x10000: C code that
 * Erlang calls at +0x100, the root at +0x200; each has 64 bytes of stack below its return address. Generated code is at
 * JIT_VA, in our memory so that it can be read: fragments, then functions; the scheduler's loop is the last fragment.
 */
#if defined(__x86_64__)	/* on arm64 BEAM's frames are not read */

#define CODE(i) (CODE_VA + 0x100 * (i) + 0x20)
#define C_VA CODE(1)
#define ROOT_VA CODE(2)
#define JIT_VA (MEMORY_VA + 0x4000)
#define JIT_BYTES 0x1000
#define MEMORY_BYTES 0x8000ull
#define STEP_RULES 3
#define STEP_MORE_MAPS { .start_va = JIT_VA, .end_va = JIT_VA + JIT_BYTES, .page_base = MAP_NO_ROWS, .lang = 10 },
#define STEP_HEADER "lang/beam/beam_step.h"

#include "step_walk.h"

#define FRAGMENT_VA JIT_VA
#define LOOP_VA (JIT_VA + 0x100)
#define EXIT_VA (JIT_VA + 0x1c0)
#define FUNCTION(i) (JIT_VA + 0x200 + 0x40 * (i))
#define ERLANG_VA (MEMORY_VA + 0x1000)		/* the stack of the process */
#define REGISTERS_VA ((STACK_VA + 0x3ff) & ~0xffull)
#define SCHEDULER_VA (MEMORY_VA + 0x600)
#define PROCESS_VA (MEMORY_VA + 0x800)
#define NIL 0x3bull
#define STOP 0x58

static struct beam_slot *slot = (void *)u.slot;

static void setup(u64 pc_va, u64 sp)
{
	struct map_entry code = maps[0];

	if (code.start_va > maps[1].start_va) {		/* they are sorted */
		maps[0] = maps[1];
		maps[1] = code;
	}
	step_setup(LANG_BEAM, 9, 9, pc_va);
	*slot = (struct beam_slot){
		.scheduler = 0x40, .stop = STOP, .registers = 0x40, .root = 0x108, .root_va = ROOT_VA,
		.normal_exit_va = EXIT_VA,
		.global_va = JIT_VA, .global_end_va = JIT_VA + 0x200, .loop_va = LOOP_VA, .loop_end_va = LOOP_VA + 0x80,
	};
	put(THREAD_POINTER + 0x40, SCHEDULER_VA);
	put(SCHEDULER_VA, REGISTERS_VA);
	put(SCHEDULER_VA + 8 * BEAM_SCHEDULER_PROCESS, PROCESS_VA);
	put(PROCESS_VA + STOP, ERLANG_VA);
	put(REGISTERS_VA + 0x108 + 32, ROOT_VA);
	u.regs.reg[REG_SP] = sp;
	u.regs.reg[3] = REGISTERS_VA + 0x40;
	u.regs.reg[13] = PROCESS_VA;
}

#define ERLANG(...) put_erlang((const u64[]){ __VA_ARGS__ }, sizeof((const u64[]){ __VA_ARGS__ }) / 8)

static void put_erlang(const u64 *words, u32 count)
{
	for (u32 i = 0; i < count; i++)
		put(ERLANG_VA + 8 * i, words[i]);
}

/* f: a function or fragment by its number, C, root */
static u32 frame_text(char *text, size_t bytes, const u64 *words)
{
	u64 va = *words & FRAME_VA_MASK;

	if (*words >> FRAME_KIND_SHIFT == FRAME_RUNTIME) {
		(void)snprintf(text, bytes, *words & FRAME_LABELS ? " pid %llu" : "?", *words & FRAME_LOW_MASK);
		return 2;
	}
	if (*words >> FRAME_KIND_SHIFT == FRAME_EXE)
		(void)snprintf(text, bytes, (*words & FRAME_EA_MASK) < 0x200 ? " C" : " root");
	else if (va < JIT_VA + 0x200)
		(void)snprintf(text, bytes, " (%s)", va >= LOOP_VA ? "loop" : "fragment");
	else
		(void)snprintf(text, bytes, " %llu", (va - FUNCTION(0)) / 0x40);
	return 1;
}

static const char *walked(void)
{
	return step_walked(frame_text);
}

TEST(beam_step_finds_return_addresses_between_values)
{
	setup(FUNCTION(1), ERLANG_VA);
	ERLANG(FUNCTION(2) + 8, NIL, 0x7f01, FUNCTION(3) + 8, FUNCTION(3) + 8, 0x1f, 0, EXIT_VA);
	STREQ(walked(), " 1 2 3 3 root complete");
}

TEST(beam_step_goes_on_where_a_frame_has_many_values)
{
	setup(FUNCTION(1), ERLANG_VA);
	for (u64 i = 0; i < 150; i++)
		put(ERLANG_VA + 8 * i, NIL);
	put(ERLANG_VA + 8 * 150, FUNCTION(2) + 8);
	put(ERLANG_VA + 8 * 151, EXIT_VA);
	STREQ(walked(), " 1 2 root complete");
}

/* call; then mov rsp, [r13 + STOP] or mov rsp, rbp */
static void put_call(u64 return_va, u64 leave)
{
	put(return_va - 8, 0xe8909090ull);
	put(return_va, leave);
}

TEST(beam_step_goes_over_to_the_stack_of_the_process_from_c_code)
{
	u64 return_va = FRAGMENT_VA + 0x20;

	setup(C_VA, REGISTERS_VA - STACK_BYTES);
	put(REGISTERS_VA - 8, return_va);
	put_call(return_va, (u64)STOP << 24 | 0x658b49);
	ERLANG(FUNCTION(2) + 8, NIL, FUNCTION(3) + 8, EXIT_VA);
	STREQ(walked(), " C (fragment) 2 3 root complete");
	/* By rbp. */
	setup(C_VA, REGISTERS_VA - STACK_BYTES);
	put(REGISTERS_VA - 8, return_va);
	put_call(return_va, 0xec89480000ull);
	put(PROCESS_VA + STOP, 0);
	u.regs.reg[REG_FP] = ERLANG_VA + 8;
	ERLANG(0, FUNCTION(4) + 8, EXIT_VA);
	STREQ(walked(), " C (fragment) 4 root complete");
	/* Another scheduler's data, or none. */
	setup(C_VA, REGISTERS_VA - STACK_BYTES);
	put(REGISTERS_VA - 8, return_va);
	put_call(return_va, (u64)STOP << 24 | 0x658b49);
	put(SCHEDULER_VA, 0x1234);
	STREQ(walked(), " C (fragment) runtime");
}

/* Code of ETS that matches has the scheduler believe in a process that has no stack. */
TEST(beam_step_finds_the_process_that_has_called_what_matches)
{
	u64 return_va = FRAGMENT_VA + 0x20, pseudo = MEMORY_VA + 0xa00;

	for (u64 saved = 0; saved < 2; saved++) {
		setup(C_VA, REGISTERS_VA - STACK_BYTES);
		put(REGISTERS_VA - 8, return_va);
		put_call(return_va, (u64)STOP << 24 | 0x658b49);
		put(SCHEDULER_VA + 8 * BEAM_SCHEDULER_PROCESS, pseudo);
		put(PROCESS_VA, 77 << 4 | 3);
		put(PROCESS_VA + STOP - 8, ERLANG_VA - 0x100);
		put(REGISTERS_VA - 16, MEMORY_VA + 0xb00);	/* which is no process */
		if (saved)
			put(REGISTERS_VA - 32, PROCESS_VA);
		slot->wants_pids = 1;
		ERLANG(FUNCTION(2) + 8, NIL, EXIT_VA);
		STREQ(walked(), saved ? " C (fragment) pid 77 2 root complete" : " C (fragment) runtime");
	}
	/* Its heap ends behind its stack. */
	setup(C_VA, REGISTERS_VA - STACK_BYTES);
	put(REGISTERS_VA - 8, return_va);
	put_call(return_va, (u64)STOP << 24 | 0x658b49);
	put(SCHEDULER_VA + 8 * BEAM_SCHEDULER_PROCESS, pseudo);
	put(PROCESS_VA, 77 << 4 | 3);
	put(PROCESS_VA + STOP - 8, ERLANG_VA + 0x100);
	put(REGISTERS_VA - 32, PROCESS_VA);
	STREQ(walked(), " C (fragment) runtime");
}

TEST(beam_step_knows_code_that_has_gone_over_to_the_stack_of_the_thread)
{
	setup(FUNCTION(1), REGISTERS_VA);
	put(FUNCTION(1), (u64)STOP << 24 | 0x658b49);
	ERLANG(FUNCTION(2) + 8, EXIT_VA);
	STREQ(walked(), " 1 2 root complete");
}

TEST(beam_step_shows_no_process_between_two_of_them)
{
	setup(C_VA, REGISTERS_VA - STACK_BYTES);
	put(REGISTERS_VA - 8, LOOP_VA + 0x20);
	ERLANG(FUNCTION(2) + 8, EXIT_VA);
	STREQ(walked(), " C (loop) root complete");
}

TEST(beam_step_finds_who_has_called_a_fragment_without_aligning_the_address)
{
	setup(FRAGMENT_VA + 4, ERLANG_VA);
	put(FUNCTION(2), 0xe8ull << 40);	/* a call of five bytes, up to + 10 */
	ERLANG(FUNCTION(2) + 10, NIL, FUNCTION(3) + 8, EXIT_VA);
	STREQ(walked(), " (fragment) 2 3 root complete");
	/* A function may have such a word among its values. */
	setup(FUNCTION(1), ERLANG_VA);
	put(FUNCTION(2), 0xe8ull << 40);
	ERLANG(FUNCTION(2) + 10, NIL, FUNCTION(3) + 8, EXIT_VA);
	STREQ(walked(), " 1 3 root complete");
}

TEST(beam_step_passes_over_frame_pointers)
{
	setup(FUNCTION(1), ERLANG_VA);
	slot->has_frame_pointers = 1;
	ERLANG(ERLANG_VA + 24, FUNCTION(2) + 8, NIL, ERLANG_VA + 48, FUNCTION(3) + 8, NIL, EXIT_VA);
	STREQ(walked(), " 1 2 3 root complete");
}

TEST(beam_step_tells_the_process_where_that_is_asked_for)
{
	u64 return_va = FRAGMENT_VA + 0x20;

	setup(FUNCTION(1), ERLANG_VA);
	slot->wants_pids = 1;
	put(PROCESS_VA, 77 << 4 | 3);
	ERLANG(FUNCTION(2) + 8, EXIT_VA);
	STREQ(walked(), " 1 pid 77 2 root complete");
	setup(C_VA, REGISTERS_VA - STACK_BYTES);
	slot->wants_pids = 1;
	put(PROCESS_VA, 78 << 4 | 3);
	put(REGISTERS_VA - 8, return_va);
	put_call(return_va, (u64)STOP << 24 | 0x658b49);
	ERLANG(FUNCTION(2) + 8, EXIT_VA);
	STREQ(walked(), " C (fragment) pid 78 2 root complete");
	/* That is no process. */
	setup(FUNCTION(1), ERLANG_VA);
	slot->wants_pids = 1;
	put(PROCESS_VA, 77 << 4 | 7);
	ERLANG(FUNCTION(2) + 8, EXIT_VA);
	STREQ(walked(), " 1 2 root complete");
}

TEST(beam_step_says_so_where_nothing_makes_sense)
{
	setup(FUNCTION(1), ERLANG_VA);
	ERLANG(FUNCTION(2) + 8, EXIT_VA);
	put(REGISTERS_VA + 0x108 + 32, 0);	/* no root */
	STREQ(walked(), " 1 2 runtime");
	setup(FUNCTION(1), ERLANG_VA);
	u.regs.reg[3] = 0x123;
	STREQ(walked(), " 1 runtime");
	setup(FUNCTION(1), 0x10);		/* not there */
	STREQ(walked(), " 1 runtime");
	/* Once there was the root, no frames of Erlang follow. */
	setup(FUNCTION(1), ERLANG_VA);
	ERLANG(EXIT_VA);
	slot->root_va = FUNCTION(5);
	put(REGISTERS_VA + 0x108, FUNCTION(5));
	STREQ(walked(), " 1 runtime");
}

TEST(beam_step_survives_whatever_is_in_memory)
{
	u64 random = 1;

	for (u32 round = 0; round < 3000; round++) {
		setup(round % 2 ? FUNCTION(1) : C_VA, round % 2 ? ERLANG_VA : REGISTERS_VA - STACK_BYTES);
		put(REGISTERS_VA - 8, FRAGMENT_VA + 0x20);
		put_call(FRAGMENT_VA + 0x20, (u64)STOP << 24 | 0x658b49);
		ERLANG(FUNCTION(2) + 8, NIL, FUNCTION(3) + 8, EXIT_VA);
		step_spoil(&random, MEMORY_VA, MEMORY_VA + 0x4000, round % 3);
		(void)walked();
		OK(u.trace.end < END_COUNT);
	}
}

#endif
