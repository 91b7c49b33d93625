// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * The kernel half, compiled for this machine, in a process with a made-up PHP.
 * Code is at 0x10000: execute_ex() at +0x100, C code that calls it at +0x200,
 * other C code at +0x300, the root at +0x400.
 */
#define CODE(i) (CODE_VA + 0x100 * (i) + 0x20)
#define LOOP_VA CODE(1)
#define CALLER_VA (CODE_VA + 0x210)	/* behind a call: the code of a process is in its memory */
#define C_VA CODE(3)
#define ROOT_VA CODE(4)
#define JIT_VA 0x900000ull
#define MEMORY_BYTES 0xa000ull
#define STEP_RULES 5
#define STEP_MORE_MAPS { .start_va = JIT_VA, .end_va = JIT_VA + 0x10000, .page_base = MAP_NO_ROWS, .lang = 8 },
#define STEP_HEADER "lang/php/php_step.h"

#include "base/types.h"

static u32 kept_count;

static void php_keep(u64 function, u64 cookie, const u64 *words, u64 file)
{
	kept_count++;
}

#include "step_walk.h"

static struct php_slot *slot = (void *)u.slot;

#define CURRENT_VA (MEMORY_VA + 0x200)
#define FRAME_OF(i) (MEMORY_VA + 0x400 + (i) * 0x80)
#define FUNCTION_OF(i) (MEMORY_VA + 0x2000 + (i) * 0x100)
#define OPLINE_OF(i) (MEMORY_VA + 0x4000 + (i) * 0x40)
#define TOP PHP_CALL_TOP
#define FILE_CODE PHP_CALL_CODE
#define INTERNAL (1u << 31)	/* not PHP's: the function is written in C */
#define FAKE (1u << 30)		/* ... there is none */
#define NAMELESS (1u << 29)

static u32 frame_total;

static void setup(u64 pc_va)
{
	step_setup(LANG_PHP, 1, 2, pc_va);
	frame_total = 0;
	*slot = (struct php_slot){
		.current = CURRENT_VA, .file = 0x80, .opcodes = 0x88, .caller = { CODE_VA + 0x200, CODE_VA + 0x300 },
		.loop = { { CODE_VA + 0x100, CODE_VA + 0x200 } },
		.text = { CODE_VA, CODE_VA + 0x500 }, .frame_bytes = STACK_BYTES, .fp_below = 0x10,
	};
	for (u64 i = 0; i < 10; i++) {
		put(FUNCTION_OF(i), PHP_TYPE_USER);
		put(OPLINE_OF(i) + PHP_OPLINE_LINE, 100 + i);
	}
}

/* Pushes a frame of the function with that number; the last is the innermost. */
static void push(u64 i, u32 flags)
{
	u64 va = FRAME_OF(frame_total);

	put(va, flags & INTERNAL ? 0 : OPLINE_OF(i));
	put(va + 24, flags & FAKE ? 0 : FUNCTION_OF(i));
	put(va + 40, flags & (PHP_CALL_TOP | PHP_CALL_CODE));
	put(va + 48, frame_total ? FRAME_OF(frame_total - 1) : 0);
	if (flags & INTERNAL)
		put(FUNCTION_OF(i), PHP_TYPE_INTERNAL);
	put(FUNCTION_OF(i) + 8, flags & NAMELESS ? 0 : FUNCTION_OF(i) + 0x40);
	put(CURRENT_VA, va);
	frame_total++;
}

/* Functions by number, those in C in brackets, m the file, i one that is included, e of eval(). */
static u32 frame_text(char *text, size_t bytes, const u64 *words)
{
	static const char *const formats[] = { "%llu", "(%llu)", "m%llu", "i%llu", "e%llu" };
	u64 function = (words[0] >> PHP_KIND_BITS & PHP_ADDRESS_MASK) << 3, kind = words[0] & PHP_KIND_MASK;

	if (words[0] >> FRAME_KIND_SHIFT != FRAME_RUNTIME) {
		text[0] = "?Xscr???"[(words[0] & FRAME_EA_MASK) >> 8 & 7];
		return 1;
	}
	if (kind <= PHP_EVAL)
		(void)snprintf(text, bytes, formats[kind], (function - FUNCTION_OF(0)) / 0x100);
	return 2;
}

static const char *walked(void)
{
	return step_walked(frame_text);
}

TEST(php_step_shows_the_functions_of_a_run_instead_of_the_loop)
{
	setup(LOOP_VA);
	kept_count = 0;
	push(1, TOP | FILE_CODE);
	push(2, 0);
	push(3, FILE_CODE);
	put(FUNCTION_OF(5), PHP_TYPE_EVAL);
	push(5, FILE_CODE);
	push(2, 0);
	STACK(CALLER_VA, ROOT_VA);
	STREQ(walked(), "2e5i32m1sr complete");
	EQ(u.words[1] & PHP_LINE_MASK, 102);
	OK(kept_count >= 4);
}

#if REG_RA == 16	/* of x86-64's compiler; elsewhere what was stored last counts, and generated code is native */
TEST(php_step_takes_the_instruction_of_the_loop_from_its_register)
{
	setup(LOOP_VA);
	push(1, TOP | FILE_CODE);
	push(2, 0);
	STACK(CALLER_VA, ROOT_VA);
	u.regs.reg[PHP_REG_FRAME] = FRAME_OF(1);
	u.regs.reg[PHP_REG_OPLINE] = OPLINE_OF(7);
	STREQ(walked(), "2m1sr complete");
	EQ(u.words[1] & PHP_LINE_MASK, 107);
	EQ(u.words[3] & PHP_LINE_MASK, 101);
}
#endif

TEST(php_step_puts_native_code_inside_of_functions_in_c)
{
	setup(LOOP_VA);
	push(1, TOP | FILE_CODE);
	push(4, INTERNAL);
	push(2, TOP);
	push(3, 0);
	STACK(CALLER_VA, C_VA, LOOP_VA, CALLER_VA, ROOT_VA);
	STREQ(walked(), "32sc(4)m1sr complete");
	setup(C_VA);
	push(1, TOP | FILE_CODE);
	push(4, INTERNAL | TOP);	/* which another in C has called */
	STACK(LOOP_VA, CALLER_VA, ROOT_VA);
	STREQ(walked(), "c(4)m1sr complete");
}

/* zend_call_function() has made its frame: it has come no further than past its arguments. */
TEST(php_step_leaves_out_a_run_that_has_not_begun)
{
	for (u64 passed = 0; passed < 3; passed++) {
		setup(CALLER_VA);
		push(1, TOP | FILE_CODE);
		push(4, INTERNAL);
		push(2, TOP);
		put(FRAME_OF(2) + 40, PHP_CALL_TOP | 1ull << 32);
		put(FUNCTION_OF(2) + 0x88, OPLINE_OF(2) - passed * PHP_OPLINE_BYTES);
		STACK(C_VA, LOOP_VA, CALLER_VA, ROOT_VA);
		STREQ(walked(), passed < 2 ? "sc(4)m1sr complete" : "sc2sr complete");
	}
}

TEST(php_step_passes_what_has_resumed_a_generator)
{
	setup(LOOP_VA);
	push(1, TOP | FILE_CODE);
	push(0, FAKE);
	push(2, TOP);
	STACK(CALLER_VA, LOOP_VA, CALLER_VA, ROOT_VA);
	STREQ(walked(), "2sm1sr complete");
}

TEST(php_step_ends_at_the_first_function_of_a_fiber)
{
	setup(LOOP_VA);
	push(1, TOP | FILE_CODE);
	push(4, INTERNAL | NAMELESS);
	push(2, TOP);
	STACK(CALLER_VA, C_VA, 0x123456);
	STREQ(walked(), "2 complete");
}

#if REG_RA == 16
/* It has jumped out of the loop, and taken two words of the stack. */
TEST(php_step_walks_through_generated_code)
{
	setup(JIT_VA + 0x100);
	push(1, TOP | FILE_CODE);
	push(2, 0);
	put(STACK_VA + 16 + STACK_BYTES - 8, CALLER_VA);
	put(STACK_VA + 16 + 2 * STACK_BYTES - 8, ROOT_VA);
	put(CALLER_VA - 8, 0xe8000000);		/* a call */
	STREQ(walked(), "2m1sr complete");
	/* Nothing that could be its caller. */
	setup(JIT_VA + 0x100);
	push(1, TOP | FILE_CODE);
	OK(!strstr(walked(), "m1"));
}
#endif

TEST(php_step_shows_native_code_where_nothing_runs)
{
	setup(LOOP_VA);
	STACK(CALLER_VA, ROOT_VA);
	STREQ(walked(), "Xsr complete");
}

TEST(php_step_ends_at_what_makes_no_sense)
{
	setup(LOOP_VA);
	push(1, TOP | FILE_CODE);
	push(2, 0);
	put(FUNCTION_OF(1), 77);
	STACK(CALLER_VA, ROOT_VA);
	STREQ(walked(), "2 runtime");
	setup(LOOP_VA);
	push(2, 0);
	put(FRAME_OF(0) + 48, 0x10);	/* no frame */
	STACK(CALLER_VA, ROOT_VA);
	STREQ(walked(), "2 runtime");
	setup(LOOP_VA);
	push(2, 0);
	put(FRAME_OF(0) + 48, FRAME_OF(0));	/* for ever */
	STACK(CALLER_VA, ROOT_VA);
	OK(walked());
}

/* Any words at all: it must end. */
TEST(php_step_ends_whatever_is_in_memory)
{
	u64 random = 1;

	for (u32 round = 0; round < 3000; round++) {
		setup(round & 2 ? JIT_VA + 0x100 : LOOP_VA);
		push(1, TOP | FILE_CODE);
		push(4, INTERNAL);
		push(2, TOP);
		push(3, 0);
		STACK(CALLER_VA, C_VA, LOOP_VA, CALLER_VA, ROOT_VA);
		step_spoil(&random, MEMORY_VA + 0x200, MEMORY_VA + 0x9400, round & 1);
		(void)walked();
	}
}
