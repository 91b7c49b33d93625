/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * The kernel half: labels of the goroutine that the thread runs for, and the way from the thread's own stack back to
 * the goroutine's. Needs before it what bpf/native.h needs, and
 *
 *	u64 walk_thread_pointer(void);
 */
#ifndef LANG_GO_STEP_H
#define LANG_GO_STEP_H

#include "go.h"
#include "lang/list.h"
#include "native.h"

typedef struct unwind *go_reader;

static inline int go_read(go_reader u, void *to, u32 bytes, u64 va)
{
	return read_user(u, to, bytes, va);
}

#include "signature.h"

_Static_assert(sizeof(struct go_room) <= STATE_WORDS * sizeof(u64), "fits the state");

#define GO_REG_G 28	/* arm64: in all of Go's code; the walk does not change it */

static inline int go_word(struct unwind *u, u64 va, u64 *ret_word)
{
	return read_user(u, ret_word, sizeof(*ret_word), va);
}

/* The goroutine that a g's thread runs for, 0 if none. Their words lead to each other, or are not what we think. */
static inline u64 go_current_of(struct unwind *u, const struct go_slot *slot, u64 g)
{
	u64 m, curg, back;

	if (!g || go_word(u, g + GO_G_M, &m) || !m || go_word(u, m + slot->curg, &curg) || !curg)
		return 0;
	if (curg != g && (go_word(u, curg + GO_G_M, &back) || back != m))
		return 0;
	return curg;
}

static inline u64 go_current(struct unwind *u, const struct go_slot *slot)
{
	u64 g;

#if REG_RA == 30
	/* C code may use the register for something else; where there is some, g is in the thread's memory, too. */
	u64 curg = go_current_of(u, slot, u->regs.reg[GO_REG_G]);

	if (curg || !slot->tls)
		return curg;
#endif
	if (go_word(u, walk_thread_pointer() + slot->tls, &g))
		return 0;
	return go_current_of(u, slot, g);
}

/* Before the first frame: pushes what stands for the labels, if there are any. */
static inline void go_push_labels(struct unwind *u)
{
	const struct go_slot *slot = (const void *)u->slot;
	u64 curg, labels, signature;

	if (!slot->labels)
		return;
	curg = go_current(u, slot);
	if (!curg || go_word(u, curg + slot->labels, &labels) || !labels)
		return;
	signature = go_sign(u, slot->kind, labels, GO_BY_TEXT | GO_WITH_TEXT, (void *)u->state);
	if (signature)
		(void)unwind_push_labels(u, LANG_GO, signature, labels);
}

/*
 * Functions that have gone over to the thread's stack. While the thread still runs for the goroutine, that is where it
 * was left: in g.sched.
 *
 *	mcall		What it has called has the goroutine as its argument, in a slot on the stack; by the time the
 *			thread runs for another there is no way back to the one that called.
 *	morestack	Goes on with the function that wants more stack. On arm64 that has no frame yet, and its return
 *			address is in g.sched, too.
 *	systemstack	Of 1.19 and 1.20, which has no frame: sp is where it returns to, pc is made up. Only of the
 *			first change of stack is g.sched sure to tell.
 */
static inline int go_step(struct unwind *u, const struct unwind_rule *rule)
{
	const struct go_slot *slot = (const void *)u->slot;
	u64 va = u->regs.pc - u->is_return, curg, argument, bp, sched[2];

	if (!rule || !u->is_return)
		return STEP_NATIVE;
	if (rule->kind != RULE_END && (rule->kind != RULE_SWITCH || u->stack_switches))
		return STEP_NATIVE;
	curg = go_current(u, slot);
	if (!curg)
		return STEP_NATIVE;
	if (va >= slot->mcall_start_va && va < slot->mcall_end_va &&
	    (go_word(u, u->regs.reg[REG_SP], &argument) || argument != curg))
		return STEP_NATIVE;
	if (read_user(u, sched, sizeof(sched), curg + GO_G_SCHED) || go_word(u, curg + slot->sched_bp, &bp) ||
	    !sched[0] || u->stack_switches >= STACK_SWITCHES_MAX)
		return STEP_NATIVE;
	if (rule->kind == RULE_SWITCH) {
		if (go_word(u, sched[0], &sched[1]))
			return STEP_NATIVE;
		sched[0] += sizeof(u64);
	}
	if (!sched[1])
		return STEP_NATIVE;
	u->stack_switches++;
	u->is_guess = 0;
	if (unwind_push(u, native_frame(u, rule, 1)))
		return STEP_END;
	u->regs.reg[REG_SP] = sched[0];
	u->regs.pc = sched[1];
	u->regs.reg[REG_FP] = bp;
	u->fp_va = 0;
	u->bx_va = 0;
	u->sp_lost = 0;
	u->is_leaf = 0;
#if REG_RA == 30
	if (go_word(u, curg + slot->sched_bp - sizeof(u64), &u->regs.reg[REG_RA])) {
		(void)unwind_end(u, END_UNREADABLE);
		return STEP_END;
	}
	u->is_leaf = 1;
#endif
	return STEP_CALLER;
}

#endif
