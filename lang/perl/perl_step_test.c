// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * The kernel half, compiled for this machine, in a process with a made-up Perl.
 * Code is at 0x10000: Perl_runops_standard() at +0x100, call_sv() at +0x200,
 * docatch() at +0x300, other C code at +0x400, the root at +0x500.
 */
#define CODE(i) (CODE_VA + 0x100 * (i) + 0x20)
#define RUN_VA CODE(1)
#define CALL_VA CODE(2)
#define CATCH_VA CODE(3)
#define C_VA CODE(4)
#define ROOT_VA CODE(5)
#define MEMORY_BYTES 0x8000ull
#define STEP_RULES 6
#define STEP_HEADER "lang/perl/perl_step.h"

#include "base/types.h"

struct perl_slot;

static u32 kept_count;

static void perl_keep(const struct perl_slot *slot, u64 low, u64 second)
{
	kept_count++;
}

struct unwind;
static int perl_next(struct unwind *u);

#include "step_walk.h"

static int perl_next(struct unwind *at)
{
	return perl_one(at, (void *)at->slot, (void *)at->state);
}

static struct perl_slot *slot = (void *)u.slot;

#define CONTEXT_BYTES 104
#define INTERPRETER_VA (MEMORY_VA + 0x400)
#define INFO_VA(i) (MEMORY_VA + 0x600 + (i) * 0x40)
#define CONTEXTS_VA(i) (MEMORY_VA + 0x1000 + (i) * 0x800)
#define SUB_VA(i) (MEMORY_VA + 0x4000 + (i) * 0x100)
#define GLOB_VA(i) (MEMORY_VA + 0x5000 + (i) * 0x40)
#define COP_VA(i) (MEMORY_VA + 0x5800 + (i) * 0x40)
#define FILE_VA (MEMORY_VA + 0x6000)
#define ENV_VA(i) (MEMORY_VA + 0x6100 + (i) * 0x10)	/* buffers that are not on the stack */

/* What stands on the stacks of contexts, as if by name. */
#define SUB PERL_TYPE_SUB
#define EVAL (PERL_TYPE_EVAL | PERL_EVAL_IS_BLOCK)
#define TEXT PERL_TYPE_EVAL
#define BLOCK 2
#define BACK 0x1234		/* an operation to go on with */

static u32 counts[3];		/* contexts of each stack */

static void setup(u64 pc_va)
{
	step_setup(LANG_PERL, 1, 1, pc_va);
	*slot = (struct perl_slot){
		.has_threads = 1, .op = 8, .cop = 208, .info = 224, .value = 0x20, .context_bytes = CONTEXT_BYTES,
		.sub_code = 9, .eval_name = 8, .eval_env = 12, .info_type = 44,
		.callers = { { CALL_VA - 0x20, CALL_VA + 0xe0 } }, .text = { CODE_VA, CODE_VA + 0x400 },
	};
	put(THREAD_POINTER + 0x20, INTERPRETER_VA);
	put(INTERPRETER_VA + 8, BACK);
	put(INTERPRETER_VA + 208, COP_VA(9));
	memset(counts, 0, sizeof(counts));
	for (u64 i = 0; i < 3; i++) {
		put(INFO_VA(i) + 8, CONTEXTS_VA(i));
		put(INFO_VA(i) + 16, i ? INFO_VA(i - 1) : 0);
		put(INFO_VA(i) + 32, 20ull << 32 | ~0u);
	}
	put(INTERPRETER_VA + 224, INFO_VA(0));
	for (u64 i = 0; i < 10; i++) {
		put(SUB_VA(i), SUB_VA(i) + 0x20);
		put(SUB_VA(i) + 8, (u64)PERL_SV_CODE << 32);
		put(SUB_VA(i) + 0x20 + PERL_CODE_NAME, GLOB_VA(i));
		put(COP_VA(i) + PERL_COP_LINE, (100 + i) << 32);
		put(COP_VA(i) + PERL_COP_FILE, FILE_VA);
	}
	put(ENV_VA(0), ENV_VA(1));	/* the outermost, in the interpreter: there is none before it */
}

/* Pushes a context: a sub by its number, entered from the statement with that number. */
static u64 push(u32 stack, u64 type, u64 i, u64 back)
{
	u64 va = CONTEXTS_VA(stack) + counts[stack]++ * CONTEXT_BYTES;

	put(va, type);
	put(va + 16, COP_VA(i));
	put(va + 48, back);
	if ((type & PERL_TYPE_MASK) == SUB)
		put(va + 72, SUB_VA(i));
	put(INFO_VA(stack) + 32, 20ull << 32 | (counts[stack] - 1));
	put(INTERPRETER_VA + 224, INFO_VA(stack));
	return va;
}

/* The buffer in the frame of the function that the n-th return address leads to. */
static u64 env_on_stack(u32 n)
{
	u64 va = STACK_VA + n * STACK_BYTES + 0x10;

	put(va, ENV_VA(2));
	put(ENV_VA(2), ENV_VA(0));
	return va;
}

/* Subs by number, e an eval of a block, t of a text, q of a file, M the program; native code by where it is. */
static u32 frame_text(char *text, size_t bytes, const u64 *words)
{
	u64 object = (words[0] >> PERL_KIND_BITS & PERL_ADDRESS_MASK) << 3;

	if (words[0] >> FRAME_KIND_SHIFT != FRAME_RUNTIME) {
		text[0] = "?Rsdcr??"[(words[0] & FRAME_EA_MASK) >> 8 & 7];
		return 1;
	}
	switch (words[0] & PERL_KIND_MASK) {
	case PERL_SUB_GLOB:
		(void)snprintf(text, bytes, "%llu", (object - GLOB_VA(0)) / 0x40);
		break;
	case PERL_SUB_CODE:
		(void)snprintf(text, bytes, "n%llu", (object - SUB_VA(0)) / 0x100);
		break;
	default:
		text[0] = "??etqM"[words[0] & PERL_KIND_MASK];
	}
	return 2;
}

static const char *walked(void)
{
	return step_walked(frame_text);
}

/* The line of the frame whose words begin there. */
static u64 line_at(u32 word)
{
	EQ((u.words[word + 1] >> PERL_LINE_BITS) << 3, FILE_VA);
	return u.words[word + 1] & PERL_LINE_MASK;
}

TEST(perl_step_shows_subs_and_the_program_instead_of_the_loop)
{
	setup(C_VA);
	push(0, BLOCK, 0, 0);
	push(0, SUB, 1, BACK);
	push(0, BLOCK, 5, 0);
	push(0, SUB, 2, BACK);
	STACK(RUN_VA, C_VA, ROOT_VA);
	STREQ(walked(), "c21Mcr complete");
	/* Each has come to where the next was entered. */
	EQ(line_at(1), 109);
	EQ(line_at(3), 102);
	EQ(line_at(5), 101);
}

TEST(perl_step_puts_native_code_between_runs)
{
	setup(C_VA);
	push(0, BLOCK, 0, 0);
	push(0, SUB, 1, BACK);
	push(0, SUB, 2, 0);
	push(0, SUB, 3, BACK);
	STACK(RUN_VA, CALL_VA, C_VA, RUN_VA, ROOT_VA);
	STREQ(walked(), "c32sc1Mr complete");
}

TEST(perl_step_goes_from_stack_to_stack)
{
	setup(RUN_VA);
	push(0, BLOCK, 0, 0);
	push(0, SUB, 1, BACK);
	push(1, EVAL, 7, 0);		/* call_sv()'s own */
	push(1, SUB, 2, 0);
	STACK(CALL_VA, C_VA, RUN_VA, ROOT_VA);
	STREQ(walked(), "2sc1Mr complete");
	/* A comparison: a block without a name, on a stack of its own. */
	setup(RUN_VA);
	push(0, BLOCK, 0, 0);
	push(0, SUB, 1, BACK);
	push(2, 0, 7, 0);
	push(2, SUB, 3, BACK);
	STACK(C_VA, RUN_VA, ROOT_VA);
	STREQ(walked(), "3c1Mr complete");
}

TEST(perl_step_shows_what_evaluates)
{
	u64 required;

	setup(RUN_VA);
	kept_count = 0;
	push(0, BLOCK, 0, 0);
	push(0, EVAL, 4, BACK);
	push(0, EVAL | PERL_EVAL_TRY, 5, BACK);
	push(0, TEXT, 6, BACK);
	required = push(0, TEXT, 6, BACK);
	put(required + 64, GLOB_VA(3));
	push(0, SUB, 1, BACK);
	STACK(ROOT_VA);
	STREQ(walked(), "1qteMr complete");
	EQ(kept_count, 2);
	EQ(line_at(2), 101);
}

/* An eval in a sub that C code has called has a run of its own, with whatever it calls, and further evals. */
TEST(perl_step_finds_the_run_of_an_eval)
{
	for (u32 inner = 0; inner < 3; inner++) {
		u64 env;

		setup(RUN_VA);
		env = env_on_stack(1);
		push(0, BLOCK, 0, 0);
		push(0, SUB, 1, BACK);
		push(0, SUB, 2, 0);
		push(0, SUB, 3, BACK);
		put(push(0, EVAL, 4, BACK) + 96, env);
		push(0, SUB, 5, BACK);
		if (inner)
			put(push(0, EVAL, 4, BACK) + 96, env);
		if (inner == 2)
			push(0, SUB, 6, BACK);
		STACK(CATCH_VA, RUN_VA, CALL_VA, RUN_VA, ROOT_VA);
		STREQ(walked(), inner == 0 ? "5ed32s1Mr complete" : inner == 1 ? "e5ed32s1Mr complete" :
				"6e5ed32s1Mr complete");
		EQ(u.trace.frame_count, 9 + inner);
	}
	/* Not so where call_sv() itself has the buffer, or the program. */
	setup(RUN_VA);
	push(0, BLOCK, 0, 0);
	push(0, SUB, 2, 0);
	put(push(0, EVAL, 4, BACK) + 96, env_on_stack(1));
	STACK(CALL_VA, RUN_VA, ROOT_VA);
	STREQ(walked(), "e2sMr complete");
	setup(RUN_VA);
	push(0, SUB, 2, BACK);
	put(push(0, EVAL, 4, BACK) + 96, env_on_stack(1));
	put(ENV_VA(2), 0);
	STACK(C_VA, ROOT_VA);
	STREQ(walked(), "e2Mcr complete");
}

TEST(perl_step_leaves_out_what_has_not_begun_or_is_idle)
{
	/* call_sv() has entered the sub: its operation is on the stack. */
	setup(C_VA);
	push(0, BLOCK, 0, 0);
	push(0, SUB, 9, 0);
	put(INTERPRETER_VA + 8, STACK_VA + STACK_BYTES - 0x18);
	STACK(RUN_VA, ROOT_VA);
	STREQ(walked(), "cMr complete");
	/* The sub that it has called is written in C: that of the run is another. */
	setup(C_VA);
	push(0, BLOCK, 0, 0);
	push(0, SUB, 2, 0);
	put(INTERPRETER_VA + 8, STACK_VA + STACK_BYTES - 0x18);
	STACK(RUN_VA, CALL_VA, RUN_VA, ROOT_VA);
	STREQ(walked(), "c2sMr complete");
	/* Between two comparisons. */
	setup(C_VA);
	push(0, BLOCK, 0, 0);
	push(0, SUB, 1, BACK);
	push(1, SUB | 0x10, 2, 0);
	put(INFO_VA(1) + 40, (u64)PERL_INFO_SORT << 32);
	put(INTERPRETER_VA + 8, 0);
	STACK(RUN_VA, ROOT_VA);
	STREQ(walked(), "c1Mr complete");
	/* A module is about to run its block, or runs it: whose code has called the run tells. */
	for (u32 runs = 0; runs < 2; runs++) {
		setup(C_VA);
		push(0, BLOCK, 0, 0);
		push(0, SUB, 1, BACK);
		push(1, SUB | 0x10, 2, 0);
		put(INFO_VA(1) + 40, (u64)PERL_INFO_MULTICALL << 32);
		if (runs)
			STACK(RUN_VA, C_VA, RUN_VA, CALL_VA, ROOT_VA);
		else
			STACK(RUN_VA, CALL_VA, ROOT_VA);
		STREQ(walked(), runs ? "c2c1Msr complete" : "c1Msr complete");
	}
}

TEST(perl_step_knows_subs_that_have_their_own_name)
{
	setup(RUN_VA);
	push(0, SUB, 1, BACK);
	put(SUB_VA(1) + 0x20 + PERL_CODE_FLAGS, (u64)PERL_CODE_NAMED << 32);
	push(0, SUB | PERL_SUB_FAKE, 2, BACK);
	STACK(ROOT_VA);
	STREQ(walked(), "n1Mr complete");
}

TEST(perl_step_reads_variables_where_there_are_no_threads)
{
	setup(RUN_VA);
	push(0, SUB, 1, BACK);
	slot->has_threads = 0;
	slot->op += INTERPRETER_VA;
	slot->cop += INTERPRETER_VA;
	slot->info += INTERPRETER_VA;
	STACK(ROOT_VA);
	STREQ(walked(), "1Mr complete");
}

TEST(perl_step_finds_an_interpreter_in_a_block_of_values)
{
	setup(RUN_VA);
	push(0, SUB, 1, BACK);
	slot->is_in_block = 1;
	slot->value_in_block = 0x18;
	put(THREAD_POINTER + 0x20, MEMORY_VA + 0x6800);
	put(MEMORY_VA + 0x6818, INTERPRETER_VA);
	STACK(ROOT_VA);
	STREQ(walked(), "1Mr complete");
}

/* A thread begins with a sub that C code has called. */
TEST(perl_step_shows_no_program_in_a_thread)
{
	setup(RUN_VA);
	push(0, SUB, 1, 0);
	push(0, SUB, 2, BACK);
	STACK(CALL_VA, RUN_VA, ROOT_VA);
	STREQ(walked(), "21sRr complete");
}

TEST(perl_step_shows_native_code_if_there_is_no_interpreter)
{
	setup(RUN_VA);
	put(THREAD_POINTER + 0x20, 0);
	STACK(C_VA, ROOT_VA);
	STREQ(walked(), "Rcr complete");
	setup(RUN_VA);
	put(INFO_VA(0) + 32, 5ull << 32 | 6);	/* more than there is room for */
	STACK(C_VA, ROOT_VA);
	STREQ(walked(), "Rcr complete");
}

TEST(perl_step_ends_at_what_is_no_sub)
{
	setup(RUN_VA);
	push(0, SUB, 1, BACK);
	push(0, SUB, 2, 0);
	put(SUB_VA(2) + 8, 0);			/* the innermost: it is being made */
	STACK(ROOT_VA);
	STREQ(walked(), "1Mr complete");
	setup(RUN_VA);
	push(0, SUB, 1, BACK);
	push(0, SUB, 2, BACK);
	put(SUB_VA(1) + 8, 0);
	STACK(ROOT_VA);
	STREQ(walked(), "2 runtime");
}

/* Any words at all: it must end. */
TEST(perl_step_ends_whatever_is_in_memory)
{
	u64 random = 1;

	for (u32 round = 0; round < 3000; round++) {
		setup(RUN_VA);
		push(0, BLOCK, 0, 0);
		push(0, SUB, 1, BACK);
		push(0, SUB, 2, 0);
		put(push(0, EVAL, 4, BACK) + 96, env_on_stack(1));
		push(0, SUB, 5, BACK);
		push(1, SUB, 3, 0);
		STACK(CALL_VA, RUN_VA, CATCH_VA, RUN_VA, CALL_VA, RUN_VA, ROOT_VA);
		step_spoil(&random, MEMORY_VA + 0x400, MEMORY_VA + 0x7200, round & 1);
		(void)walked();
	}
}
