// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/* The kernel half, compiled for this machine. */
#include "forge_luajit_walk.h"

/* Three functions that call each other. */
static void put_three(void)
{
	push_first(0, 1);
	push_called(0, 2);
	push_called(0, 3);
}

TEST(luajit_step_shows_the_functions_of_a_run_instead_of_the_interpreter)
{
	setup(LOOP_VA);
	put_three();
	run_at(0, 5);
	innermost_run(0, native_run(0, 0, C_VA));
	native_c(ROOT_VA);
	STREQ(walked(), "(2)3@5(1)2@31@2NR complete");
}

TEST(luajit_step_knows_functions_that_begin_and_return)
{
	/* Its first instruction comes next. */
	setup(LOOP_VA);
	put_three();
	u.regs.reg[LUAJIT_REG_BASE] = base_of[0];
	u.regs.reg[LUAJIT_REG_PC] = CODE_OF(3);
	innermost_run(0, native_run(0, 0, C_VA));
	native_c(ROOT_VA);
	STREQ(walked(), "(2)3@0(1)2@31@2NR complete");
	/* The instruction is its caller's already, or still. */
	setup(LOOP_VA);
	put_three();
	u.regs.reg[LUAJIT_REG_BASE] = base_of[0];
	u.regs.reg[LUAJIT_REG_PC] = CODE_OF(2) + 4 * 4;
	innermost_run(0, native_run(0, 0, C_VA));
	native_c(ROOT_VA);
	STREQ(walked(), "(2)3@0(1)2@31@2NR complete");
	/* A result is where the function was, or the link is not there yet. */
	for (u32 i = 0; i < 2; i++) {
		setup(LOOP_VA);
		put_three();
		u.regs.reg[LUAJIT_REG_BASE] = base_of[0];
		u.regs.reg[LUAJIT_REG_PC] = CODE_OF(2) + 4 * 4;
		put(base_of[0] - 16 + 8 * i, 0x4045000000000000);
		innermost_run(0, native_run(0, 0, C_VA));
		native_c(ROOT_VA);
		STREQ(walked(), "(1)2@31@2NR complete");
	}
}

/* The same function calls itself: the instruction does not tell. */
TEST(luajit_step_knows_a_link_that_is_not_stored_yet)
{
	setup(LOOP_VA);
	push_first(0, 1);
	push_called(0, 1);
	u.regs.reg[LUAJIT_REG_BASE] = base_of[0];
	u.regs.reg[LUAJIT_REG_PC] = CODE_OF(1) + 4 * 2;
	put(base_of[0] - 8, 0x4045000000000000);
	innermost_run(0, native_run(0, 0, C_VA));
	native_c(ROOT_VA);
	STREQ(walked(), "1@1NR complete");
}

TEST(luajit_step_puts_native_code_inside_of_functions_in_c)
{
	u64 outer;

	setup(C_VA);
	push_first(0, 1);
	push_called(0, IN_C);
	push_first(0, 2);
	push_called(0, IN_C);
	native_c(LOOP_VA);
	native_sp += LUAJIT_NATIVE_BYTES + STACK_BYTES;		/* the one after them first */
	outer = native_run(0, 0, C_VA);
	native_c(ROOT_VA);
	native_sp = STACK_VA + STACK_BYTES;
	innermost_run(0, native_run(0, outer, C_VA));
	native_c(LOOP_VA);
	STREQ(walked(), "N(2)c2@9N(1)c1@9NR complete");
}

TEST(luajit_step_goes_from_one_coroutine_to_that_which_has_resumed_it)
{
	setup(LOOP_VA);
	push_first(0, 1);
	push_called(0, IN_C);
	push_first(1, 2);
	push_called(1, 3);
	run_at(1, 4);
	innermost_run(1, native_run(1, 0, LOOP_VA) | 1);
	innermost_run(0, native_run(0, 0, C_VA));
	native_c(ROOT_VA);
	STREQ(walked(), "(2)3@42@3(1)c1@9NR complete");
}

TEST(luajit_step_passes_over_runs_of_c_code_alone)
{
	u64 outer;

	setup(C_VA);
	push_first(0, 1);
	push_called(0, 2);
	native_c(LOOP_VA);
	native_sp += LUAJIT_NATIVE_BYTES;
	outer = native_run(0, 0, C_VA);
	native_c(ROOT_VA);
	native_sp = STACK_VA + STACK_BYTES;
	innermost_run(0, native_run(0, outer, LOOP_VA));
	put_u32(STACK_VA + STACK_BYTES + LUAJIT_NATIVE_RESULTS, (u32)-64);
	u.regs.reg[REG_FP] = base_of[0];
	STREQ(walked(), "N(1)2@01@2NR complete");
}

TEST(luajit_step_knows_links_of_all_types)
{
	/* Protected, in a function in C that has called it. */
	setup(LOOP_VA);
	push_first(0, 1);
	push_called(0, IN_C);
	push(0, 2, 24, 24 | 6);
	run_at(0, 3);
	innermost_run(0, native_run(0, 0, C_VA));
	native_c(ROOT_VA);
	STREQ(walked(), "2@3(1)c1@9NR complete");
	/* An operator's: who goes on with the result is before. */
	setup(LOOP_VA);
	push_first(0, 1);
	push(0, 2, 64, 64 | LINK_CONT);
	put(base_of[0] - 24, CODE_OF(1) + 4 * 8);
	put(base_of[0] - 32, C_VA);
	run_at(0, 3);
	innermost_run(0, native_run(0, 0, C_VA));
	native_c(ROOT_VA);
	STREQ(walked(), "(1)2@31@7NR complete");
	/* Of any number of arguments: two frames, which are one. */
	setup(LOOP_VA);
	push_first(0, 1);
	push_called(0, 2);
	push(0, 2, 40, 40 | LINK_VARG);
	run_at(0, 3);
	innermost_run(0, native_run(0, 0, C_VA));
	native_c(ROOT_VA);
	STREQ(walked(), "(1)2@31@2NR complete");
}

TEST(luajit_step_finds_the_run_of_a_trace_above_what_it_has_on_the_stack)
{
	setup(TRACE_CODE_VA + 0x44);
	push_first(0, 1);
	push_called(0, 2);
	put(GLOBAL + RUNNING, base_of[0]);
	put_u32(GLOBAL + NUMBER, 3);
	put(GLOBAL + TRACE_ARRAY, TRACES);
	put(TRACES + 8 * 3, TRACE);
	put(TRACE + LUAJIT_TRACE_MACHINE, TRACE_CODE_VA + 0x40);
	native_sp += 0x58;
	innermost_run(0, native_run(0, 0, C_VA));
	native_c(ROOT_VA);
	STREQ(walked(), "(1)t41@2NR complete");
	/* One that is in no trace now, or in none that can be read. */
	setup(TRACE_CODE_VA + 0x44);
	push_first(0, 1);
	push_called(0, 2);
	put(GLOBAL + RUNNING, base_of[0]);
	put_u32(GLOBAL + NUMBER, ~0u);
	native_sp += 0x58;
	innermost_run(0, native_run(0, 0, C_VA));
	native_c(ROOT_VA);
	STREQ(walked(), "(1)2@01@2NR complete");
}

TEST(luajit_step_shows_native_code_if_there_is_no_state)
{
	setup(LOOP_VA);
	push_first(0, 1);
	(void)native_run(0, 0, C_VA);
	native_c(ROOT_VA);
	put(STACK_VA + STACK_BYTES - 8, ROOT_VA);
	STREQ(walked(), "XR complete");
}

TEST(luajit_step_ends_at_what_is_no_function)
{
	setup(LOOP_VA);
	put_three();
	run_at(0, 5);
	put(base_of[0] - 8 * 5 - 16, 0x4045000000000000);
	innermost_run(0, native_run(0, 0, C_VA));
	native_c(ROOT_VA);
	STREQ(walked(), " runtime");
}

/* Any words at all: it must end. */
TEST(luajit_step_ends_whatever_is_in_memory)
{
	u64 random = 1;

	for (u32 round = 0; round < 3000; round++) {
		setup(round & 2 ? LOOP_VA : TRACE_CODE_VA + 0x44);
		push_first(0, 1);
		push_called(0, IN_C);
		push_first(1, 2);
		push_called(1, 3);
		run_at(1, 4);
		put(GLOBAL + RUNNING, round & 4 ? base_of[1] : 0);
		innermost_run(1, native_run(1, 0, LOOP_VA) | 1);
		innermost_run(0, native_run(0, 0, C_VA));
		native_c(ROOT_VA);
		step_spoil(&random, MEMORY_VA + 0x400, MEMORY_VA + MEMORY_BYTES, round & 1);
		while (!native_step(&u))
			;
	}
}
