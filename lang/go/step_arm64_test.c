// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/* The kernel half as compiled for arm64, on whatever machine this is: its memory is an array. */
#ifndef __aarch64__
#define __TARGET_ARCH_arm64
#endif

#define MEMORY_WORDS 4096
#define THREAD (MEMORY_VA + 0x100)
#define G (MEMORY_VA + 0x400)		/* of the goroutine */
#define G0 (MEMORY_VA + 0x800)		/* ... of the thread itself */
#define M (MEMORY_VA + 0xc00)
#define STACK (MEMORY_VA + 0x1000)
#define LABELS (MEMORY_VA + 0x4000)

#include <stdbool.h>

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
static void setup(void)
{
	static const char *const texts[] = { "request", "17" };

	memset(&u, 0, sizeof(u));
	memset(&memory, 0, sizeof(memory));
	*(struct go_slot *)u.slot = (struct go_slot){ .curg = 184, .labels = 352, .kind = GO_SLICE,
						      .sched_bp = GO_G_SCHED + 40 };
	put(G0 + GO_G_M, M);
	put(G + GO_G_M, M);
	put(M + 184, G);
	put(G + 352, LABELS);
	forge_labels(memory.byte + (LABELS - MEMORY_VA), LABELS, GO_SLICE, texts, 1);
	u.is_leaf = 1;
	u.regs.reg[GO_REG_G] = G0;
}

static bool has_labels(void)
{
	u.trace.user_count = 0;
	u.trace.frame_count = 0;
	go_push_labels(&u);
	return u.trace.user_count == 2 && u.words[1] == LABELS;
}

TEST(go_step_of_arm64_gets_g_from_its_register)
{
	setup();
	OK(has_labels());
	u.regs.reg[GO_REG_G] = G;
	OK(has_labels());
	/* C code has something else there. */
	u.regs.reg[GO_REG_G] = STACK;
	OK(!has_labels());
	u.regs.reg[GO_REG_G] = 0x1234;
	OK(!has_labels());
	/* ... and the thread remembers. */
	((struct go_slot *)u.slot)->tls = 16;
	OK(!has_labels());
	put(THREAD + 16, G0);
	OK(has_labels());
}

TEST(go_step_of_arm64_goes_back_to_a_function_without_a_frame)
{
	struct unwind_rule end = { .kind = RULE_END, .lang = LANG_GO };
	/* As Go's rows have it of a function that has not begun. */
	struct unwind_rule called = { .kind = RULE_CFA, .cfa_reg = REG_SP, .ra_off = REG_RA, .saved = RA_IN_REG << 4 };

	setup();
	u.is_leaf = 0;
	u.is_return = 1;
	u.regs.pc = 0x402040;
	u.regs.reg[REG_SP] = STACK;
	put(G + GO_G_SCHED, STACK + 0x800);
	put(G + GO_G_SCHED + 8, 0x403000);
	put(G + GO_G_SCHED + 32, 0x404000);
	put(G + GO_G_SCHED + 40, STACK + 0x880);
	EQ(go_step(&u, &end), STEP_CALLER);
	EQ(u.trace.user_count, 1);
	EQ(u.regs.pc, 0x403000);
	EQ(u.regs.reg[REG_SP], STACK + 0x800);
	OK(u.is_return);
	EQ(native_caller(&u, &called), 0);
	EQ(u.regs.pc, 0x404000);
	EQ(u.regs.reg[REG_SP], STACK + 0x800);
	EQ(u.regs.reg[REG_FP], STACK + 0x880);
	OK(!u.is_leaf && u.is_return);
	/* Its return address is not to be had. */
	setup();
	u.is_return = 1;
	put(G + GO_G_SCHED, STACK + 0x800);
	put(G + GO_G_SCHED + 8, 0x403000);
	((struct go_slot *)u.slot)->sched_bp = MEMORY_VA - G;
	EQ(go_step(&u, &end), STEP_END);
	EQ(u.trace.end, END_UNREADABLE);
}
