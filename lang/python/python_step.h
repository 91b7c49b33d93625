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

#define PYTHON_FRAMES_STEP 16	/* frames looked at in one step */
#define PYTHON_FRAMES_MAX (2 * WALK_FRAMES_MAX)	/* ... in a walk: those that are not shown may lie in a circle */

/*
 * Where frames and code objects are read into: u->words, behind all that can be pushed. A read costs more than what is
 * done with it, and the frames of a run mostly lie one below the other, so that one read gets several: a window.
 */
#define PYTHON_ROOM (KERNEL_FRAMES_MAX + USER_WORDS_MAX)
#define PYTHON_WINDOW_WORDS 64
#define PYTHON_CODE PYTHON_WINDOW_WORDS	/* a code object's block, behind the window */
#define PYTHON_AWAITING 80		/* frames of coroutines that wait, behind that */
#define PYTHON_ROOM_WORDS 128		/* a power of two */
#define PYTHON_STRIDE_MAX 400		/* frames that are farther apart are not expected in one window */
_Static_assert(PYTHON_ROOM + PYTHON_ROOM_WORDS <= WORDS_MAX, "there is room");
_Static_assert(PYTHON_CODE + PYTHON_BLOCK_WORDS <= PYTHON_AWAITING, "both fit");

#define PYTHON_TASKS_MAX 8		/* that await each other and are shown */
#define PYTHON_COROUTINES_MAX 16	/* of each of them; a power of two */
_Static_assert(PYTHON_AWAITING + PYTHON_COROUTINES_MAX <= PYTHON_ROOM_WORDS, "they fit, too");

enum python_phase {
	PYTHON_START,		/* nothing is known of the thread */
	PYTHON_BETWEEN,		/* `at` begins the frames of the next run, or is its _PyCFrame */
	PYTHON_INSIDE,		/* `at` is a frame of this run, or of a task that awaits it */
	PYTHON_AWAITED,		/* the outermost coroutine of `task` was met */
	PYTHON_DONE,		/* no frames are left */
};

/* struct unwind's state[] */
struct python_state {
	u64 phase;		/* enum python_phase */
	u64 at;
	u64 run;		/* where the frames of this run began, to give them back */
	u32 words, frames;	/* what was pushed before them */
	u64 window_va, window_bytes;	/* what is in the window */
	u64 frame_va;		/* of the block that was looked at last */
	u64 frame;		/* ... and where in the room it is */
	u64 looked;		/* frames so far */
	u64 running;		/* asyncio's running task, and the frame of its coroutine; 0: none */
	u64 running_frame;
	u64 task, task_frame;	/* the same of the task that is shown: it, or one that awaits it */
	u64 tasks;		/* that were shown beside the running one */
	u64 waiting;		/* frames of coroutines of the task that are left, outermost first */
	u64 after;		/* the frame that has called the running task */
};
_Static_assert(sizeof(struct python_state) <= STATE_WORDS * sizeof(u64), "fits the state");
_Static_assert(sizeof(struct python_slot) <= SLOT_WORDS * sizeof(u64), "fits the slot");

static inline int python_read(struct unwind *u, u64 va, u64 *ret_word)
{
	return read_user(u, ret_word, sizeof(*ret_word), va);
}

/* A word of a block that was read: of st->frame, or PYTHON_CODE. */
static inline u64 python_word(struct unwind *u, u64 block, u64 at)
{
	return u->words[PYTHON_ROOM + ((block + at / 8) & (PYTHON_ROOM_WORDS - 1))];
}

static inline u32 python_half(struct unwind *u, u64 block, u64 at)
{
	return (u32)(python_word(u, block, at) >> (at & 4) * 8);
}

static inline u8 python_byte(struct unwind *u, u64 block, u64 at)
{
	return (u8)(python_word(u, block, at) >> (at & 7) * 8);
}

/* Gets the block of a frame: st->frame. 0, or less if it cannot be read. */
static inline int python_load(struct unwind *u, struct python_state *st, u64 va)
{
	const u64 block = PYTHON_BLOCK_BYTES, window = PYTHON_WINDOW_WORDS * sizeof(u64);
	u64 above = st->frame_va - va, offset = va - st->window_va;

	st->frame_va = va;
	if (offset + block <= st->window_bytes && offset < window && !(offset & 7)) {
		st->frame = offset / 8;
		return 0;
	}
	if (above < PYTHON_STRIDE_MAX && !read_user(u, &u->words[PYTHON_ROOM], window, va + block - window)) {
		st->window_va = va + block - window;
		st->window_bytes = window;
		st->frame = PYTHON_WINDOW_WORDS - PYTHON_BLOCK_WORDS;
		return 0;
	}
	st->window_va = va;
	st->window_bytes = block;
	st->frame = 0;
	return read_user(u, &u->words[PYTHON_ROOM], block, va);
}

/* The thread's state by what holds its address: it must be of this thread. Else 0. */
static inline u64 python_thread_at(struct unwind *u, const struct python_slot *slot, u64 va, u64 self)
{
	u64 thread = 0, id = 0;

	if (python_read(u, va, &thread) || !thread || python_read(u, thread + slot->thread_id, &id) || id != self)
		return 0;
	return thread;
}

/* The state of this thread, or 0. That of the lock's holder goes first: it may be that of a subinterpreter. */
static inline u64 python_thread(struct unwind *u, const struct python_slot *slot)
{
	u64 tp = walk_thread_pointer(), self = tp + slot->self, at = tp + slot->tsd, thread;

	thread = slot->current_va ? python_thread_at(u, slot, slot->current_va, self) : 0;
	if (thread)
		return thread;
	if (slot->tsd_block) {
		if (python_read(u, at, &at) || !at)
			return 0;
		at += slot->tsd_in_block;
	}
	thread = python_thread_at(u, slot, at, self);
	return thread || !slot->tsd_other ? thread : python_thread_at(u, slot, tp + slot->tsd_other, self);
}

/* Which task is running, and by which frame it is known. */
static inline void python_start_task(struct unwind *u, const struct python_slot *slot, struct python_state *st,
				     u64 thread)
{
	u64 task = 0, coroutine = 0;

	if (python_read(u, thread + slot->running_task, &task) || !task ||
	    python_read(u, task + slot->task_coroutine, &coroutine) || !coroutine)
		return;
	st->running = task;
	st->running_frame = coroutine + slot->generator_frame;
}

static inline int python_start(struct unwind *u, const struct python_slot *slot, struct python_state *st)
{
	u64 thread = python_thread(u, slot);

	st->phase = PYTHON_DONE;
	if (!thread || python_read(u, thread + slot->top, &st->at))
		return STEP_NATIVE;
	if (slot->running_task)
		python_start_task(u, slot, st, thread);
	st->phase = PYTHON_BETWEEN;
	return STEP_AGAIN;
}

static inline int python_broken(struct unwind *u)
{
	unwind_end(u, END_RUNTIME);
	return STEP_END;
}

/*
 * The frame address of the loop's run, or 0: u->cfa. On arm64 the frame pointer tells only where the record of its
 * caller is, at the bottom of that frame: nothing of the run lies above.
 */
static inline u64 python_cfa(struct unwind *u, const struct unwind_rule *rule)
{
	u64 bx_va = u->bx_va;
	int r;

	if (!rule || (rule->kind != RULE_CFA && rule->kind != RULE_SWEPT && rule->kind != RULE_FRAME))
		return 0;
	if (REG_RA == 30 && (rule->kind == RULE_FRAME || (u->sp_lost && rule->cfa_reg == REG_SP))) {
		r = native_fp(u) || read_user(u, &u->cfa, sizeof(u->cfa), u->regs.reg[REG_FP]);
	} else if (rule->kind == RULE_FRAME) {
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
	st->frames = u->trace.frame_count;
	st->run = st->at;
	st->task = st->running;
	st->task_frame = st->running_frame;
	st->tasks = 0;
	st->waiting = 0;
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
		unwind_give_back(u, st->frames, st->words);
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
	u64 start = code + slot->code_start, at = python_word(u, st->frame, slot->frame_instruction), copy, count;

	if (slot->frames == PYTHON_OBJECTS) {
		at = python_half(u, st->frame, slot->frame_instruction);
		at = (s32)at < 0 ? PYTHON_INSTRUCTION_NONE : at >> slot->instruction_shift;
		return at < PYTHON_INSTRUCTION_NONE ? at : PYTHON_INSTRUCTION_NONE;
	}
	if (slot->copies) {
		copy = python_half(u, st->frame, slot->frame_copy);
		/* How many there are, then where each is. */
		if (python_read(u, code + slot->copies, &start) || python_read(u, start, &count) || copy >= count ||
		    python_read(u, start + 8 + copy * 8, &start))
			return PYTHON_INSTRUCTION_NONE;
	}
	at = at < start ? PYTHON_INSTRUCTION_NONE : (at - start) / 2;
	return at < PYTHON_INSTRUCTION_NONE ? at : PYTHON_INSTRUCTION_NONE;
}

/*
 * The cookie of a code object: 0, or an enum step. The code that recurses is read once. -1: not to be shown, it is the
 * interpreter's own, such as what cleans up after __init__(), which has no file, or its name instead.
 */
static inline int python_code(struct unwind *u, struct python_slot *slot, u64 code, u64 *ret_cookie)
{
	u64 at = (code >> 4 ^ code >> 7) & (PYTHON_SEEN - 1), file, name, cookie;

	*ret_cookie = slot->seen[at].cookie;
	if (code && slot->seen[at].code == code)
		return 0;
	if (read_user(u, &u->words[PYTHON_ROOM + PYTHON_CODE], PYTHON_BLOCK_BYTES, code + slot->code_block))
		return python_broken(u);
	file = python_word(u, PYTHON_CODE, slot->code_file);
	name = python_word(u, PYTHON_CODE, slot->code_name);
	if (!file || file == name)
		return -1;
	cookie = python_cookie(file, name, python_half(u, PYTHON_CODE, slot->code_line));
	if (unwind_meet(u, code ^ cookie << FRAME_LANG_SHIFT))
		python_keep(code, cookie, file);
	slot->seen[at].code = code;
	slot->seen[at].cookie = cookie;
	*ret_cookie = cookie;
	return 0;
}

/*
 * The task that awaits another, or 0. Several may: which of them to show is not known, and the chain ends, as at a
 * future that is no task.
 */
static inline u64 python_waiter(struct unwind *u, const struct python_slot *slot, u64 task)
{
	u64 waiter = 0;
	u8 flag = 0;

	if (read_user(u, &flag, sizeof(flag), task + slot->task_has_set) || flag ||
	    python_read(u, task + slot->task_awaited_by, &waiter) || !waiter ||
	    read_user(u, &flag, sizeof(flag), waiter + slot->task_is_task) || !flag)
		return 0;
	return waiter;
}

/*
 * The frames of the coroutines that a task waits in, into the room: how many. Each has what it awaits at the end of its
 * stack of values; the last one something else than a coroutine.
 */
static inline u64 python_coroutines(struct unwind *u, const struct python_slot *slot, u64 task)
{
	u64 coroutine = 0, first_type = 0, type = 0, count = 0;

	if (python_read(u, task + slot->task_coroutine, &coroutine))
		return 0;
	LOOP_NO_UNROLL
	for (u64 i = 0; i < PYTHON_COROUTINES_MAX; i++) {
		u64 frame = coroutine + slot->generator_frame;

		if (python_read(u, coroutine + slot->object_type, &type) || (i && type != first_type) ||
		    read_user(u, &u->words[PYTHON_ROOM + PYTHON_CODE], PYTHON_BLOCK_BYTES, frame) ||
		    python_byte(u, PYTHON_CODE, slot->frame_owner) != PYTHON_OWNER_GENERATOR)
			break;
		first_type = type;
		u->words[PYTHON_ROOM + PYTHON_AWAITING + (i & (PYTHON_COROUTINES_MAX - 1))] = frame;
		count = i + 1;
		if (python_read(u, python_word(u, PYTHON_CODE, slot->frame_stack) - slot->awaited_below, &coroutine))
			break;
		coroutine &= slot->code_mask;
	}
	return count;
}

/* Goes on with the coroutine that waits innermost. */
static inline void python_next_waiting(struct unwind *u, struct python_state *st)
{
	st->waiting--;
	st->at = u->words[PYTHON_ROOM + PYTHON_AWAITING + (st->waiting & (PYTHON_COROUTINES_MAX - 1))];
}

/* A task was shown: goes on with the one that awaits it, else with what has called the running one. */
static inline void python_next_task(struct unwind *u, const struct python_slot *slot, struct python_state *st)
{
	st->phase = PYTHON_INSIDE;
	st->task = st->tasks < PYTHON_TASKS_MAX ? python_waiter(u, slot, st->task) : 0;
	st->waiting = st->task ? python_coroutines(u, slot, st->task) : 0;
	st->tasks++;
	if (!st->waiting) {
		st->task_frame = 0;
		st->at = st->after;
		return;
	}
	st->task_frame = u->words[PYTHON_ROOM + PYTHON_AWAITING];
	python_next_waiting(u, st);
}

/* The frame at st->at was shown: goes on to the next. */
static inline void python_next(struct unwind *u, struct python_state *st, u64 previous)
{
	if (st->at == st->task_frame) {
		if (!st->tasks)
			st->after = previous;
		st->phase = PYTHON_AWAITED;
	} else if (st->waiting) {
		python_next_waiting(u, st);
	} else {
		st->at = previous;
	}
}

/* One frame of the run: pushed, and st->at moved on. STEP_AGAIN if there may be more. */
static inline int python_frame(struct unwind *u, struct python_slot *slot, struct python_state *st,
			       const struct unwind_rule *rule)
{
	u64 previous, code, cookie, instruction, shim = st->at;
	u8 owner;
	int r;

	if (!shim || st->looked++ >= PYTHON_FRAMES_MAX || python_load(u, st, shim + slot->frame_block))
		return python_broken(u);
	previous = python_word(u, st->frame, slot->frame_previous);
	code = python_word(u, st->frame, slot->frame_code) & slot->code_mask;
	owner = python_byte(u, st->frame, slot->frame_owner);
	if (slot->frames >= PYTHON_CSHIMS && owner >= PYTHON_OWNER_SHIM)
		return python_leave(u, slot, st, rule, shim, previous);
	instruction = python_instruction(u, slot, st, code);
	r = python_code(u, slot, code, &cookie);
	if (r > 0)
		return r;
	if (r == 0 && unwind_push_runtime(u, LANG_PYTHON, instruction << PYTHON_COOKIE_BITS | cookie, code))
		return STEP_END;
	if (slot->frames == PYTHON_OBJECTS || (slot->frames == PYTHON_ENTRIES && owner))
		return python_leave(u, slot, st, rule, 0, previous);
	python_next(u, st, previous);
	return STEP_AGAIN;
}

/* See lang/README.md: what to do with a run of the loop. */
static inline int runtime_step(struct unwind *u, const struct unwind_rule *rule)
{
	struct python_slot *slot = (void *)u->slot;
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
	if (st->phase == PYTHON_AWAITED)
		python_next_task(u, slot, st);
	LOOP_NO_UNROLL
	for (u64 i = 0; i < PYTHON_FRAMES_STEP; i++) {
		step = python_frame(u, slot, st, rule);
		if (step != STEP_AGAIN || st->phase != PYTHON_INSIDE)
			return step;
	}
	return STEP_AGAIN;
}

#endif
