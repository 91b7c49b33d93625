// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * The kernel half, compiled for this machine, in a process with a made-up Ruby.
 * Code is at 0x10000: rb_vm_exec() at +0x100, vm_exec_core() at +0x200, one
 * that calls the loop at +0x300, C code at +0x400, the root at +0x500; each
 * has 64 bytes of stack below its return address.
 */
#define CODE(i) (CODE_VA + 0x100 * (i) + 0x20)
#define EXEC_VA CODE(1)
#define CORE_VA CODE(2)
#define CALLER_VA CODE(3)
#define C_VA CODE(4)
#define ROOT_VA CODE(5)
#define JIT_VA 0x900000ull
#define FRAME_BYTES 56
#define MEMORY_BYTES 0x8000ull
#define STEP_RULES 6
#define STEP_MORE_MAPS { .start_va = JIT_VA, .end_va = JIT_VA + 0x10000, .page_base = MAP_NO_ROWS, .lang = 6 },
#define STEP_HEADER "lang/ruby/ruby_step.h"

#include "base/types.h"

static u32 kept_count;

static void ruby_keep(u64 iseq, u64 cookie, u64 body)
{
	kept_count++;
}

#include "step_walk.h"

static struct ruby_slot *slot = (void *)u.slot;

#define CONTEXT_VA (MEMORY_VA + 0x400)
#define FRAMES_VA (MEMORY_VA + 0x800)	/* the stack of control frames, with environments below */
#define FRAMES_MAX 8
#define FRAMES_END (FRAMES_VA + FRAMES_MAX * FRAME_BYTES)
#define ENV_OF(i) (MEMORY_VA + 0x1000 + (i) * 0x40 + 16)
#define ISEQ_OF(i) (MEMORY_VA + 0x2000 + (i) * 0x100)
#define METHOD_OF(i) (MEMORY_VA + 0x4000 + (i) * 0x40)

static void setup(void)
{
	step_setup(LANG_RUBY, 1, 3, CORE_VA);
	*slot = (struct ruby_slot){
		.context = RUBY_CONTEXT_STATIC, .context_at = 0x20, .frame_bytes = FRAME_BYTES,
		.exec = { { CODE_VA + 0x100, CODE_VA + 0x200 } }, .core = { { CODE_VA + 0x200, CODE_VA + 0x300 } },
		.text = { CODE_VA, CODE_VA + 0x600 },
	};
	put(THREAD_POINTER + 0x20, CONTEXT_VA);
	put(CONTEXT_VA, FRAMES_VA);
	put(CONTEXT_VA + 8, FRAMES_MAX * FRAME_BYTES / 8);
	for (u64 i = 0; i < 10; i++) {
		put(ISEQ_OF(i), RUBY_IMEMO_ISEQ);
		put(ISEQ_OF(i) + RUBY_ISEQ_BODY, ISEQ_OF(i) + 0x40);
		put(ISEQ_OF(i) + 0x40 + RUBY_BODY_CODE, ISEQ_OF(i) + 0x80);
		put(METHOD_OF(i), RUBY_IMEMO_METHOD);
	}
}

#define RUBY_BLOCK 0x22220001u
#define RUBY_METHOD (0x11110001u | RUBY_FLAG_LOCAL)
#define CFUNC (RUBY_TYPE_CFUNC | RUBY_FLAG_C | RUBY_FLAG_LOCAL)
#define DUMMY (RUBY_TYPE_DUMMY | RUBY_FLAG_C | RUBY_FLAG_LOCAL | RUBY_FLAG_FINISH)
#define IFUNC (0x66660001u | RUBY_FLAG_C)

/* Frames from the outermost on, as digits of their iseq; the last is the innermost. */
static u32 frame_total;

static void put_frame(u64 i, u64 flags)
{
	u64 va = FRAMES_END - ++frame_total * FRAME_BYTES, env = ENV_OF(frame_total);
	int is_c = (flags & RUBY_FLAG_C) != 0;

	put(va, is_c ? 0 : ISEQ_OF(i) + 0x80 + 8 * i);
	put(va + 16, is_c ? 0 : ISEQ_OF(i));
	put(va + 32, env);
	put(env - 16, flags & RUBY_FLAG_LOCAL && (flags & RUBY_TYPE_MASK) != RUBY_TYPE_DUMMY ? METHOD_OF(i) : 0);
	put(env, flags);
	put(CONTEXT_VA + 16, va);
}

#define FRAMES(...) put_frames((const u64[][2]){ __VA_ARGS__ }, sizeof((const u64[][2]){ __VA_ARGS__ }) / 16)

static void put_frames(const u64 (*frames)[2], u32 count)
{
	frame_total = 0;
	for (u32 i = 0; i < count; i++)
		put_frame(frames[i][0], frames[i][1]);
}

/* A frame as text: its iseq or, in brackets, the method of a C function; native code by where it is. */
static u32 frame_text(char *text, size_t bytes, const u64 *words)
{
	u64 iseq = words[1] >> RUBY_INSTRUCTION_BITS << 3;
	u64 method = (words[0] & FRAME_LOW_MASK) >> RUBY_COOKIE_BITS << 3;

	if (words[0] >> FRAME_KIND_SHIFT != FRAME_RUNTIME) {
		text[0] = "?XOlcr??"[(words[0] & FRAME_EA_MASK) >> 8 & 7];
		return 1;
	}
	(void)snprintf(text, bytes, iseq ? "%llu" : "(%llu)", iseq ? (iseq - ISEQ_OF(0)) / 0x100 :
								  (method - METHOD_OF(0)) / 0x40);
	return 2;
}

static const char *walked(void)
{
	return step_walked(frame_text);
}

#define F RUBY_FLAG_FINISH

TEST(ruby_shows_the_methods_of_a_run_instead_of_the_loop)
{
	setup();
	FRAMES({ 0, DUMMY }, { 1, RUBY_METHOD | F }, { 2, RUBY_METHOD }, { 3, RUBY_METHOD });
	STACK(EXEC_VA, C_VA, ROOT_VA);
	STREQ(walked(), "321cr complete");
}

TEST(ruby_keeps_what_is_met_for_the_first_time)
{
	setup();
	kept_count = 0;
	FRAMES({ 0, DUMMY }, { 1, RUBY_METHOD | F }, { 2, RUBY_METHOD }, { 2, RUBY_METHOD });
	STACK(EXEC_VA, ROOT_VA);
	STREQ(walked(), "221r complete");
	EQ(kept_count, 2);
}

TEST(ruby_puts_native_code_between_runs)
{
	setup();
	FRAMES({ 0, DUMMY }, { 1, RUBY_METHOD | F }, { 2, CFUNC }, { 3, RUBY_METHOD | F }, { 4, RUBY_METHOD });
	STACK(EXEC_VA, CALLER_VA, C_VA, CORE_VA, EXEC_VA, ROOT_VA);
	STREQ(walked(), "43lc(2)1r complete");
}

TEST(ruby_shows_c_functions_that_were_interrupted)
{
	setup();
	FRAMES({ 0, DUMMY }, { 1, RUBY_METHOD | F }, { 2, CFUNC }, { 5, IFUNC }, { 3, CFUNC });
	u.regs.pc = C_VA;
	STACK(C_VA, CORE_VA, EXEC_VA, ROOT_VA);
	STREQ(walked(), "cc(3)(2)1r complete");
}

/* Its frame was pushed by who is about to call the loop. */
TEST(ruby_leaves_out_a_run_that_has_not_begun)
{
	setup();
	FRAMES({ 0, DUMMY }, { 1, RUBY_METHOD | F }, { 2, CFUNC }, { 0, RUBY_METHOD | F });
	u.regs.pc = CALLER_VA;
	STACK(C_VA, CORE_VA, EXEC_VA, ROOT_VA);
	STREQ(walked(), "lc(2)1r complete");
	/* One that has, whose first instruction calls C code. */
	setup();
	FRAMES({ 0, DUMMY }, { 1, RUBY_METHOD | F }, { 2, CFUNC }, { 0, RUBY_METHOD | F });
	u.regs.pc = C_VA;
	STACK(C_VA, CORE_VA, EXEC_VA, CALLER_VA, C_VA, CORE_VA, EXEC_VA, ROOT_VA);
	STREQ(walked(), "cc0lc(2)1r complete");
}

TEST(ruby_shows_a_run_that_is_over_as_native)
{
	setup();
	FRAMES({ 0, DUMMY }, { 1, RUBY_METHOD | F }, { 2, CFUNC });
	u.regs.pc = EXEC_VA;
	STACK(CALLER_VA, C_VA, CORE_VA, EXEC_VA, ROOT_VA);
	STREQ(walked(), "Xlc(2)1r complete");
}

/* What a Fiber began with: a C function. Its stack has no return address at the end. */
TEST(ruby_knows_where_a_fiber_ends)
{
	setup();
	FRAMES({ 0, DUMMY }, { 4, IFUNC }, { 2, CFUNC }, { 3, RUBY_METHOD | F });
	STACK(EXEC_VA, C_VA, 0);
	STREQ(walked(), "3(2)c complete");
	setup();
	FRAMES({ 0, DUMMY }, { 1, RUBY_METHOD | F }, { 2, CFUNC }, { 3, RUBY_METHOD | F });
	STACK(EXEC_VA, C_VA, 0);	/* frames are left: this is no end */
	STREQ(walked(), "3c no root");
}

TEST(ruby_finds_the_method_of_a_block_by_what_is_around_it)
{
	setup();
	FRAMES({ 0, DUMMY }, { 1, RUBY_METHOD | F }, { 2, RUBY_BLOCK });
	put(ENV_OF(3) - 8, ENV_OF(2) | 1);	/* tagged */
	STACK(EXEC_VA, ROOT_VA);
	STREQ(walked(), "21r complete");
	EQ((u.words[0] & FRAME_LOW_MASK) >> RUBY_COOKIE_BITS << 3, METHOD_OF(1));
	EQ(u.words[1] & RUBY_INSTRUCTION_MASK, 2);
	/* One with variables such as $~ is inside of another object. */
	setup();
	FRAMES({ 0, DUMMY }, { 1, RUBY_METHOD | F });
	put(ENV_OF(2) - 16, MEMORY_VA + 0x5000);
	put(MEMORY_VA + 0x5000, RUBY_IMEMO_SVAR);
	put(MEMORY_VA + 0x5008, METHOD_OF(4));
	STACK(EXEC_VA, ROOT_VA);
	STREQ(walked(), "1r complete");
	EQ((u.words[0] & FRAME_LOW_MASK) >> RUBY_COOKIE_BITS << 3, METHOD_OF(4));
}

TEST(ruby_walks_through_generated_code)
{
	setup();
	FRAMES({ 0, DUMMY }, { 1, RUBY_METHOD | F }, { 2, RUBY_METHOD });
	u.regs.pc = JIT_VA + 0x100;
	put(STACK_VA, JIT_VA + 0x50);
	put(STACK_VA + 8, FRAMES_VA);
	put(STACK_VA + 16, CONTEXT_VA);
	put(STACK_VA + 24, EXEC_VA);
	put(STACK_VA + 32 + STACK_BYTES - 8, ROOT_VA);
	STREQ(walked(), "21r complete");
}

/* Its last frame is gone, or that of a C function was pushed: the register tells. */
TEST(ruby_knows_whether_generated_code_is_over)
{
	for (u32 over = 0; over < 2; over++) {
		setup();
		FRAMES({ 0, DUMMY }, { 1, RUBY_METHOD | F }, { 2, CFUNC }, { 3, RUBY_METHOD | F }, { 4, CFUNC });
		if (over)
			put(CONTEXT_VA + 16, FRAMES_END - 3 * FRAME_BYTES);
		u.regs.pc = JIT_VA + 0x100;
		u.regs.reg[RUBY_REG_FRAME] = FRAMES_END - (over ? 3 : 4) * FRAME_BYTES;
		put(STACK_VA, EXEC_VA);
		put(STACK_VA + 8 + STACK_BYTES - 8, CALLER_VA);
		put(STACK_VA + 8 + 2 * STACK_BYTES - 8, EXEC_VA);
		put(STACK_VA + 8 + 3 * STACK_BYTES - 8, ROOT_VA);
		STREQ(walked(), over ? "Xl(2)1r complete" : "(4)3l(2)1r complete");
	}
}

TEST(ruby_finds_the_context_by_the_blocks_of_a_thread)
{
	setup();
	FRAMES({ 0, DUMMY }, { 1, RUBY_METHOD | F });
	STACK(EXEC_VA, ROOT_VA);
	slot->context = RUBY_CONTEXT_DYNAMIC;
	slot->vector = 8;
	slot->vector_at = 48;
	put(THREAD_POINTER + 8, MEMORY_VA + 0x5000);
	put(MEMORY_VA + 0x5000 + 48, MEMORY_VA + 0x5800);
	put(MEMORY_VA + 0x5800 + 0x20, CONTEXT_VA);
	STREQ(walked(), "1r complete");
}

TEST(ruby_believes_a_global_context_only_of_its_own_thread)
{
	for (u64 other = 0; other < 2; other++) {
		setup();
		FRAMES({ 0, DUMMY }, { 1, RUBY_METHOD | F });
		STACK(EXEC_VA, ROOT_VA);
		slot->context = RUBY_CONTEXT_GLOBAL;
		slot->context_at = THREAD_POINTER + 0x20;
		slot->context_thread = 56;
		slot->thread_id = 72;
		put(CONTEXT_VA + 56, MEMORY_VA + 0x5000);
		put(MEMORY_VA + 0x5000 + 72, THREAD_POINTER + other);
		STREQ(walked(), other ? "OXr complete" : "1r complete");
	}
}

TEST(ruby_ends_at_what_makes_no_sense)
{
	setup();
	FRAMES({ 0, DUMMY }, { 1, RUBY_METHOD | F }, { 2, RUBY_METHOD });
	put(FRAMES_END - 2 * FRAME_BYTES + 32, 0x10);	/* no environment */
	STACK(EXEC_VA, ROOT_VA);
	STREQ(walked(), "2 runtime");
	setup();
	FRAMES({ 0, RUBY_METHOD }, { 1, RUBY_METHOD });	/* no run's first frame, up to the end */
	STACK(EXEC_VA, ROOT_VA);
	STREQ(walked(), "10 runtime");
	setup();
	put(CONTEXT_VA + 16, FRAMES_VA - 8);		/* no frame of this stack */
	STACK(EXEC_VA, ROOT_VA);
	STREQ(walked(), "OXr complete");
	setup();
	put(THREAD_POINTER + 0x20, 0);
	STACK(EXEC_VA, ROOT_VA);
	STREQ(walked(), "OXr complete");
}

/* Any words at all: it must end. */
TEST(ruby_ends_whatever_is_in_memory)
{
	u64 random = 1;

	for (u32 round = 0; round < 3000; round++) {
		setup();
		FRAMES({ 0, DUMMY }, { 1, RUBY_METHOD | F }, { 2, CFUNC }, { 3, RUBY_METHOD | F }, { 4, RUBY_BLOCK });
		STACK(EXEC_VA, C_VA, CORE_VA, EXEC_VA, ROOT_VA);
		step_spoil(&random, MEMORY_VA + 0x400, MEMORY_VA + 0x4c00, round & 1);
		(void)walked();
	}
}
