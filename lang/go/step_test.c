// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/* The kernel half, compiled for this machine: its memory is an array. */
#include "abi.h"

#if REG_RA == 16

#define MEMORY_WORDS 4096
#define THREAD (MEMORY_VA + 0x100)
#define G (MEMORY_VA + 0x400)		/* of the goroutine */
#define G0 (MEMORY_VA + 0x800)		/* ... of the thread itself */
#define M (MEMORY_VA + 0xc00)
#define STACK (MEMORY_VA + 0x1000)
#define LABELS (MEMORY_VA + 0x4000)
#define MCALL 0x401000
#define MORESTACK 0x402000

#include "forge_labels.h"
#include "step_host.h"

static u64 walk_thread_pointer(void)
{
	return THREAD;
}

#include "step.h"

static struct unwind u;

static void put(u64 va, u64 word)
{
	put_bytes(va, &word, sizeof(word));
}

/* A thread that is on its own stack, for a goroutine with labels. */
static void setup(u64 kind)
{
	static const char *const texts[] = { "request", "17", "user", "alice" };

	memset(&u, 0, sizeof(u));
	memset(&memory, 0, sizeof(memory));
	*(struct go_slot *)u.slot = (struct go_slot){ .tls = -8ull, .curg = 184, .labels = 352, .kind = kind,
						      .sched_bp = GO_G_SCHED + 40, .mcall_start_va = MCALL,
						      .mcall_end_va = MCALL + 0x100 };
	put(THREAD - 8, G0);
	put(G0 + GO_G_M, M);
	put(G + GO_G_M, M);
	put(M + 184, G);
	put(G + 352, LABELS);
	forge_labels(memory.byte + (LABELS - MEMORY_VA), LABELS, kind, texts, 2);
	u.is_leaf = 1;
}

static u64 signature(void)
{
	u.trace.user_count = 0;
	u.trace.frame_count = 0;
	go_push_labels(&u);
	if (!u.trace.user_count)
		return 0;
	EQ(u.trace.user_count, 2);
	EQ(u.words[0] >> FRAME_KIND_SHIFT, FRAME_RUNTIME);
	EQ(u.words[0] >> FRAME_LANG_SHIFT & 0xff, LANG_GO);
	OK(u.words[0] & FRAME_LABELS);
	EQ(u.words[1], LABELS);
	return u.words[0] & FRAME_LOW_MASK;
}

TEST(go_step_pushes_labels)
{
	for (u64 kind = GO_MAP; kind <= GO_SLICE; kind++) {
		u64 first;

		setup(kind);
		first = signature();
		OK(first & GO_BY_TEXT);
		put(THREAD - 8, G);
		EQ(signature(), first);
		/* The same words, another text: the memory was used again. */
		memory.byte[LABELS - MEMORY_VA + FORGE_LABELS_TEXTS + 8] = '8';
		OK(signature() != first && signature() & GO_BY_TEXT);
		/* A text that is not in memory, or too long. */
		put(LABELS + forge_labels_string(kind, 1, 1), 0x123456);
		OK(signature() && !(signature() & (GO_BY_TEXT | GO_WITH_TEXT)));
		setup(kind);
		put(LABELS + forge_labels_string(kind, 0, 1) + 8, GO_TEXT_BYTES + 1);
		OK(signature() & GO_WITH_TEXT && !(signature() & GO_BY_TEXT));
	}
}

TEST(go_step_pushes_no_labels_where_there_are_none)
{
	static const u64 broken[] = { THREAD - 8, G0 + GO_G_M, M + 184, G + GO_G_M, G + 352, LABELS };

	for (u64 kind = GO_MAP; kind <= GO_SLICE; kind++)
		for (u32 i = 0; i < 2 * sizeof(broken) / sizeof(broken[0]); i++) {
			setup(kind);
			put(broken[i / 2], i % 2 ? 0x1234 : 0);
			EQ(signature(), 0);
		}
	setup(GO_SLICE);
	((struct go_slot *)u.slot)->labels = 0;
	EQ(signature(), 0);
	setup(GO_SLICE);
	put(LABELS + 8, 0);
	EQ(signature(), 0);
}

/* On the thread's stack, in a function that has called what is now under way. */
static void enter(u64 pc)
{
	setup(GO_SLICE);
	u.is_leaf = 0;
	u.is_return = 1;
	u.regs.pc = pc + 0x40;
	u.regs.reg[REG_SP] = STACK;
	put(STACK, G);
	put(G + GO_G_SCHED, STACK + 0x800);
	put(G + GO_G_SCHED + 8, 0x403000);
	put(G + GO_G_SCHED + 40, STACK + 0x880);
}

static int step(u32 kind)
{
	return go_step(&u, &(struct unwind_rule){ .kind = (u8)kind, .lang = LANG_GO });
}

TEST(go_step_goes_back_to_the_goroutine)
{
	static const u64 from[] = { MCALL, MORESTACK };

	for (u32 i = 0; i < 2; i++) {
		enter(from[i]);
		EQ(step(RULE_END), STEP_CALLER);
		EQ(u.trace.user_count, 1);
		EQ(u.regs.pc, 0x403000);
		EQ(u.regs.reg[REG_SP], STACK + 0x800);
		EQ(u.regs.reg[REG_FP], STACK + 0x880);
		OK(!u.is_leaf && u.is_return);
	}
}

TEST(go_step_goes_back_from_systemstack_without_a_frame)
{
	enter(MORESTACK);
	put(STACK + 0x800, 0x404000);
	EQ(step(RULE_SWITCH), STEP_CALLER);
	EQ(u.regs.pc, 0x404000);
	EQ(u.regs.reg[REG_SP], STACK + 0x808);
	EQ(u.regs.reg[REG_FP], STACK + 0x880);
	enter(MORESTACK);
	u.stack_switches = 1;
	EQ(step(RULE_SWITCH), STEP_NATIVE);
}

TEST(go_step_stays_where_there_is_no_goroutine_to_go_to)
{
	enter(MORESTACK);
	EQ(step(RULE_CFA), STEP_NATIVE);	/* not yet on the other stack */
	put(M + 184, 0);
	EQ(step(RULE_END), STEP_NATIVE);
	enter(MCALL);
	put(STACK, G0);				/* by now the thread runs for another */
	EQ(step(RULE_END), STEP_NATIVE);
	enter(MORESTACK);
	put(G + GO_G_SCHED + 8, 0);
	EQ(step(RULE_END), STEP_NATIVE);
	enter(MORESTACK);
	u.stack_switches = STACK_SWITCHES_MAX;
	EQ(step(RULE_END), STEP_NATIVE);
	EQ(u.trace.user_count, 0);
}

#endif
