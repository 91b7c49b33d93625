// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/* The kernel half as compiled for arm64, on whatever machine this is. */
#ifndef __aarch64__
#define __TARGET_ARCH_arm64
#endif

#include "forge_luajit_walk.h"

TEST(luajit_step_of_arm64_shows_the_functions_of_a_run)
{
	setup(LOOP_VA);
	push_first(0, 1);
	push_called(0, 2);
	push_called(0, 3);
	run_at(0, 5);
	innermost_run(0, native_run(0, 0, C_VA));
	native_c(ROOT_VA);
	STREQ(walked(), "(2)3@5(1)2@31@2NR complete");
}

TEST(luajit_step_of_arm64_takes_the_instruction_that_is_stored_below_c_code)
{
	setup(C_VA);
	push_first(0, 1);
	push_called(0, 2);
	native_c(LOOP_VA);
	put(native_sp + LUAJIT_NATIVE_PC, CODE_OF(2) + 4 * 7);
	innermost_run(0, native_run(0, 0, C_VA));
	native_c(ROOT_VA);
	STREQ(walked(), "N(1)2@61@2NR complete");
}

TEST(luajit_step_of_arm64_finds_the_run_of_a_trace)
{
	setup(TRACE_CODE_VA + 0x44);
	push_first(0, 1);
	push_called(0, 2);
	put(GLOBAL + RUNNING, base_of[0]);
	put_u32(GLOBAL + NUMBER, ~0u);
	native_sp += 0x60;
	innermost_run(0, native_run(0, 0, C_VA));
	native_c(ROOT_VA);
	STREQ(walked(), "(1)2@01@2NR complete");
}
