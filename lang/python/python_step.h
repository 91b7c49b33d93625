/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * One step through the frames of CPython. Included by the kernel half, and by
 * the test that compiles it for the host. Needs before it what bpf/native.h
 * needs, and
 *
 *	u64 walk_thread_pointer(void);
 *	void python_keep(u64 code, u64 cookie, u64 file_va);
 *
 * the second of which copies the objects of a frame that is new.
 *
 * The loop calls itself where C code lies between two functions; else one run
 * of it interprets many. Which frames belong to a run is told by its C stack:
 * what the interpreter keeps there of the run (a _PyCFrame or the shim) lies
 * between the stack pointer and the frame address. A run that has just begun,
 * or is about to end, has no frames: it is shown as the C function it is.
 */
#ifndef LANG_PYTHON_STEP_H
#define LANG_PYTHON_STEP_H

#include "lang/list.h"
#include "native.h"
#include "python.h"

#define PYTHON_FRAMES_STEP 4	/* frames looked at in one step */

enum python_phase {
	PYTHON_START,		/* nothing is known of the thread */
	PYTHON_BETWEEN,		/* `at` begins the frames of the next run, or is its _PyCFrame */
	PYTHON_INSIDE,		/* `at` is a frame of this run */
	PYTHON_DONE,		/* no frames are left */
};

/* struct unwind's state[] */
struct python_state {
	u64 phase;		/* enum python_phase */
	u64 at;
	u64 run;		/* where the frames of this run began, to give them back */
	u32 words, frames;	/* what was pushed before them */
	u64 pad;
	u64 block[PYTHON_BLOCK_WORDS];
};
_Static_assert(sizeof(struct python_state) <= STATE_WORDS * sizeof(u64), "fits the state");
_Static_assert(sizeof(struct python_slot) <= SLOT_WORDS * sizeof(u64), "fits the slot");

static inline int python_read(struct unwind *u, u64 va, u64 *ret_word)
{
	return read_user(u, ret_word, sizeof(*ret_word), va);
}

/* A word of the block that was read last. */
static inline u64 python_word(struct python_state *st, u64 at)
{
	u64 index = at / 8;

	return index < PYTHON_BLOCK_WORDS ? st->block[index] : 0;
}

static inline u32 python_half(struct python_state *st, u64 at)
{
	return (u32)(python_word(st, at) >> (at & 4) * 8);
}

static inline u8 python_byte(struct python_state *st, u64 at)
{
	return (u8)(python_word(st, at) >> (at & 7) * 8);
}

/* The state of this thread, or 0. That of the lock's holder goes first: it may be that of a subinterpreter. */
static inline u64 python_thread(struct unwind *u, const struct python_slot *slot)
{
	u64 tp = walk_thread_pointer(), at = tp + slot->tsd, thread = 0, id = 0;

	if (slot->current_va && !python_read(u, slot->current_va, &thread) && thread &&
	    !python_read(u, thread + slot->thread_id, &id) && id == tp)
		return thread;
	if (slot->tsd_block) {
		if (python_read(u, at, &at) || !at)
			return 0;
		at += slot->tsd_in_block;
	}
	if (python_read(u, at, &thread) || !thread || python_read(u, thread + slot->thread_id, &id) || id != tp)
		return 0;
	return thread;
}

static inline int python_start(struct unwind *u, const struct python_slot *slot, struct python_state *st)
{
	u64 thread = python_thread(u, slot);

	st->phase = PYTHON_DONE;
	if (!thread || python_read(u, thread + slot->top, &st->at))
		return STEP_NATIVE;
	st->phase = PYTHON_BETWEEN;
	return STEP_AGAIN;
}

static inline int python_broken(struct unwind *u)
{
	unwind_end(u, END_RUNTIME);
	return STEP_END;
}

/* The frame address of the loop's run, or 0: u->cfa. */
static inline u64 python_cfa(struct unwind *u, const struct unwind_rule *rule)
{
	u64 bx_va = u->bx_va;
	int r;

	if (!rule || (rule->kind != RULE_CFA && rule->kind != RULE_FRAME))
		return 0;
	if (rule->kind == RULE_FRAME) {
		r = native_fp(u);
		u->cfa = u->regs.reg[REG_FP] + 16;
	} else {
		r = native_cfa(u, rule);
	}
	u->bx_va = bx_va;
	return r ? 0 : u->cfa;
}

/* Finds the first frame of this run. */
static inline int python_enter(struct unwind *u, const struct python_slot *slot, struct python_state *st,
			       const struct unwind_rule *rule)
{
	if (!st->at) {
		st->phase = PYTHON_DONE;
		return STEP_NATIVE;
	}
	st->words = u->trace.user_count;
	st->frames = u->frame_count;
	st->run = st->at;
	if (slot->frames == PYTHON_ENTRIES || slot->frames == PYTHON_CSHIMS) {
		u64 cframe = st->at;

		if (cframe >= python_cfa(u, rule))
			return STEP_NATIVE;
		if (cframe < u->regs.reg[REG_SP])	/* of a run that was passed by */
			return python_read(u, cframe + slot->cframe_previous, &st->at) ? python_broken(u) : STEP_AGAIN;
		if (python_read(u, cframe + slot->cframe_frame, &st->at))
			return python_broken(u);
	}
	st->phase = PYTHON_INSIDE;
	return STEP_AGAIN;
}

/* The run's last frame was met: goes on to where the next run begins. shim is 0 if there is none. */
static inline int python_leave(struct unwind *u, const struct python_slot *slot, struct python_state *st,
			       const struct unwind_rule *rule, u64 shim, u64 previous)
{
	st->phase = PYTHON_BETWEEN;
	st->at = previous;
	if (slot->frames == PYTHON_ENTRIES || slot->frames == PYTHON_CSHIMS)
		return python_read(u, st->run + slot->cframe_previous, &st->at) ? python_broken(u) : STEP_UNWIND;
	if (slot->frames == PYTHON_SHIMS) {
		int passed = shim < u->regs.reg[REG_SP];

		if (!passed && shim < python_cfa(u, rule))
			return STEP_UNWIND;
		u->trace.user_count = (u16)st->words;
		u->frame_count = st->frames;
		if (passed)
			return STEP_AGAIN;
		st->at = st->run;
		return STEP_NATIVE;
	}
	return STEP_UNWIND;
}

/* Where in its code a frame is, counted in pairs of bytes. */
static inline u64 python_instruction(struct unwind *u, const struct python_slot *slot, struct python_state *st,
				     u64 code)
{
	u64 start = code + slot->code_start, at = python_word(st, slot->frame_instruction), copy;

	if (slot->frames == PYTHON_OBJECTS) {
		at = python_half(st, slot->frame_instruction);
		at = (s32)at < 0 ? PYTHON_INSTRUCTION_NONE : at >> slot->instruction_shift;
		return at < PYTHON_INSTRUCTION_NONE ? at : PYTHON_INSTRUCTION_NONE;
	}
	if (slot->copies) {
		copy = python_half(st, slot->frame_copy);
		if (python_read(u, code + slot->copies, &start) || copy > PYTHON_INSTRUCTION_MASK ||
		    python_read(u, start + 8 + copy * 8, &start))
			return PYTHON_INSTRUCTION_NONE;
	}
	at = at < start ? PYTHON_INSTRUCTION_NONE : (at - start) / 2;
	return at < PYTHON_INSTRUCTION_NONE ? at : PYTHON_INSTRUCTION_NONE;
}

/* Pushes the frame of a code object, whose block is read. 0, or an enum step that ends the walk. */
static inline int python_push(struct unwind *u, const struct python_slot *slot, struct python_state *st, u64 code,
			      u64 instruction)
{
	u64 file = python_word(st, slot->code_file), name = python_word(st, slot->code_name), cookie;

	/* The interpreter's own code, such as what cleans up after __init__(), has no file, or its name instead. */
	if (!file || file == name)
		return 0;
	cookie = python_cookie(file, name, python_half(st, slot->code_line));
	if (unwind_push_runtime(u, LANG_PYTHON, instruction << PYTHON_COOKIE_BITS | cookie, code))
		return STEP_END;
	if (unwind_meet(u, code ^ cookie << FRAME_LANG_SHIFT))
		python_keep(code, cookie, file);
	return 0;
}

/* One frame of the run: pushed, and st->at moved on. STEP_AGAIN if there may be more. */
static inline int python_frame(struct unwind *u, const struct python_slot *slot, struct python_state *st,
			       const struct unwind_rule *rule)
{
	u64 previous, code, instruction, shim = st->at;
	u8 owner;
	int r;

	if (!shim || read_user(u, st->block, sizeof(st->block), shim + slot->frame_block))
		return python_broken(u);
	previous = python_word(st, slot->frame_previous);
	code = python_word(st, slot->frame_code) & slot->code_mask;
	owner = python_byte(st, slot->frame_owner);
	if (slot->frames >= PYTHON_CSHIMS && owner >= PYTHON_OWNER_SHIM)
		return python_leave(u, slot, st, rule, shim, previous);
	instruction = python_instruction(u, slot, st, code);
	if (read_user(u, st->block, sizeof(st->block), code + slot->code_block))
		return python_broken(u);
	r = python_push(u, slot, st, code, instruction);
	if (r)
		return r;
	if (slot->frames == PYTHON_OBJECTS || (slot->frames == PYTHON_ENTRIES && owner))
		return python_leave(u, slot, st, rule, 0, previous);
	st->at = previous;
	return STEP_AGAIN;
}

/* See lang/README.md: what to do with a run of the loop. */
static inline int runtime_step(struct unwind *u, const struct unwind_rule *rule)
{
	const struct python_slot *slot = (const void *)u->slot;
	struct python_state *st = (void *)u->state;
	int step;

	if (st->phase == PYTHON_START) {
		step = python_start(u, slot, st);
		if (step != STEP_AGAIN)
			return step;
	}
	if (st->phase == PYTHON_DONE)
		return STEP_NATIVE;
	if (st->phase == PYTHON_BETWEEN) {
		step = python_enter(u, slot, st, rule);
		if (step != STEP_AGAIN || st->phase != PYTHON_INSIDE)
			return step;
	}
	LOOP_NO_UNROLL
	for (u64 i = 0; i < PYTHON_FRAMES_STEP; i++) {
		step = python_frame(u, slot, st, rule);
		if (step != STEP_AGAIN || st->phase != PYTHON_INSIDE)
			return step;
	}
	return STEP_AGAIN;
}

#endif
