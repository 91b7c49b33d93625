/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * One step through the frames of PHP. Included by the kernel half, and by the
 * test that compiles it for the host. Needs before it what bpf/native.h needs,
 * and
 *
 *	void php_keep(u64 function, u64 cookie, const u64 words[PHP_FUNCTION_WORDS], u64 file);
 *
 * which copies the names of a function that is new.
 *
 * execute_ex() runs functions that call each other; where C code lies between
 * two of them there is another run of it. The outermost frame of each run is
 * flagged. Functions written in C have frames, too, which stand before those
 * that call them: their native code is shown inside of them. Code that opcache
 * has generated runs in the native frame of execute_ex(), which it was jumped
 * to from, with a little more stack.
 */
#ifndef LANG_PHP_STEP_H
#define LANG_PHP_STEP_H

#include "lang/list.h"
#include "native.h"
#include "php.h"

#define PHP_FRAMES_STEP 16	/* frames looked at in one step */
#define PHP_FRAMES_MAX (2 * WALK_FRAMES_MAX)	/* ... in a walk: some are not shown */
#define PHP_STACK_WORDS 16	/* that generated code may take of the stack */
#define PHP_REG_FRAME 14	/* where execute_ex() has its frame, and its instruction: x86-64's */
#define PHP_REG_OPLINE 15

enum php_phase {
	PHP_START,		/* nothing is known of the thread */
	PHP_BETWEEN,		/* `at` begins the frames of the next run */
	PHP_INSIDE,		/* `at` is a frame of this run */
	PHP_DONE,		/* no frames are left */
};

/* struct unwind's state[] */
struct php_state {
	u32 phase;		/* enum php_phase */
	u32 looked;		/* frames so far */
	u64 at;			/* the frame */
	u64 frame[PHP_FRAME_WORDS];
	u64 cfa, return_va;	/* of generated code: its native frame's; 0: this run is none of it */
};
_Static_assert(sizeof(struct php_state) <= STATE_WORDS * sizeof(u64), "fits the state");
_Static_assert(sizeof(struct php_slot) <= SLOT_WORDS * sizeof(u64), "fits the slot");

static inline int php_read(struct unwind *u, u64 va, u64 *ret_word)
{
	return read_user(u, ret_word, sizeof(*ret_word), va);
}

static inline int php_broken(struct unwind *u)
{
	unwind_end(u, END_RUNTIME);
	return STEP_END;
}

static inline int php_is_in(const struct php_code *code, u64 va)
{
	return va - code->start_va < code->end_va - code->start_va;
}

/* What kind of function it is, and its cookie: 0, or less if it is none. What recurses is read once. */
static inline int php_function(struct unwind *u, struct php_slot *slot, u64 function, u64 *ret_type, u64 *ret_cookie)
{
	u64 at = (function >> 4 ^ function >> 9) & (PHP_SEEN - 1), words[PHP_FUNCTION_WORDS], file = 0, type;

	if (slot->seen[at].function != function) {
		if (read_user(u, words, sizeof(words), function))
			return -1;
		type = words[0] & 0xff;
		if (type != PHP_TYPE_INTERNAL && type != PHP_TYPE_USER && type != PHP_TYPE_EVAL)
			return -1;
		if (type != PHP_TYPE_INTERNAL && php_read(u, function + slot->file, &file))
			return -1;
		slot->seen[at].function = function;
		slot->seen[at].type = type;
		slot->seen[at].cookie = php_cookie(words[1], words[2], file);
		if (unwind_meet(u, function << 8 ^ slot->seen[at].cookie))
			php_keep(function, slot->seen[at].cookie, words, file);
	}
	*ret_type = slot->seen[at].type;
	*ret_cookie = slot->seen[at].cookie;
	return 0;
}

/* The line that the frame has come to, or 0. The loop itself has the instruction in a register. */
static inline u64 php_line(struct unwind *u, const struct php_slot *slot, const struct php_state *st)
{
	u64 opline = st->frame[PHP_FRAME_OPLINE], va = u->regs.pc - u->is_return;
	u32 line = 0;

	if (REG_RA != 30 && u->is_leaf && u->regs.reg[PHP_REG_FRAME] == st->at &&
	    (php_is_in(&slot->loop[0], va) || php_is_in(&slot->loop[1], va)))
		opline = u->regs.reg[PHP_REG_OPLINE];
	if (read_user(u, &line, sizeof(line), opline + PHP_OPLINE_LINE) || line > PHP_LINE_MASK)
		return 0;
	return line;
}

/* Pushes the frame that was read: 0, or less: -1 makes no sense, -2 has no room. */
static inline int php_push(struct unwind *u, struct php_slot *slot, struct php_state *st)
{
	u64 function = st->frame[PHP_FRAME_FUNCTION], type, cookie, kind = PHP_FUNCTION, line = 0;
	u32 flags = (u32)st->frame[PHP_FRAME_FLAGS];

	if (php_function(u, slot, function, &type, &cookie))
		return -1;
	if (type == PHP_TYPE_INTERNAL)
		kind = PHP_INTERNAL;
	else if (type == PHP_TYPE_EVAL)
		kind = PHP_EVAL;
	else if (flags & PHP_CALL_CODE)
		kind = flags & PHP_CALL_TOP ? PHP_MAIN : PHP_INCLUDE;
	if (type != PHP_TYPE_INTERNAL)
		line = php_line(u, slot, st);
	if (unwind_push_runtime(u, LANG_PHP, function >> 3 << PHP_KIND_BITS | kind, cookie << PHP_LINE_BITS | line))
		return -2;
	if (type != PHP_TYPE_INTERNAL && flags & PHP_CALL_TOP)
		st->phase = PHP_BETWEEN;
	return 0;
}

/* One frame of the run: pushed, and st->at moved on. STEP_AGAIN if there may be more. */
static inline int php_frame(struct unwind *u, struct php_slot *slot, struct php_state *st)
{
	int r = 0;

	if (st->looked++ >= PHP_FRAMES_MAX || read_user(u, st->frame, sizeof(st->frame), st->at))
		return php_broken(u);
	/* One without a function stands for what has resumed a generator. */
	if (st->frame[PHP_FRAME_FUNCTION])
		r = php_push(u, slot, st);
	if (r < 0)
		return r == -1 ? php_broken(u) : STEP_END;
	st->at = st->frame[PHP_FRAME_PREVIOUS];
	if (!st->at)
		st->phase = PHP_DONE;
	return STEP_AGAIN;
}

/* Where the native frame is that generated code runs in: it has no tables, but took little of the stack. 0, or less. */
static inline int php_generated(struct unwind *u, const struct php_slot *slot, struct php_state *st)
{
	u64 sp = u->regs.reg[REG_SP], word;

	if (REG_RA == 30 || !slot->frame_bytes)
		return -1;
	LOOP_NO_UNROLL
	for (u64 i = 0; i < PHP_STACK_WORDS; i++) {
		u64 at = sp + slot->frame_bytes + i * 8;

		if (php_read(u, at - 8, &word))
			return -1;
		if (php_is_in(&slot->text, word) && native_behind_call(u, word) == BEHIND_CALL_YES) {
			st->cfa = at;
			st->return_va = word;
			return 0;
		}
	}
	return -1;
}

/* A Fiber's first frame is of a function in C without a name. */
static inline int php_is_fiber(struct unwind *u, const struct php_state *st)
{
	u64 function = 0, words[2];

	return st->at && !php_read(u, st->at + PHP_FRAME_FUNCTION * 8, &function) && function &&
	       !read_user(u, words, sizeof(words), function) && (words[0] & 0xff) == PHP_TYPE_INTERNAL && !words[1];
}

/*
 * The run is done: to who has called it. The native stack of a Fiber has nothing that tells its end: it is let end
 * here, before what would be looked for behind it.
 */
static inline int php_leave(struct unwind *u, const struct php_slot *slot, struct php_state *st)
{
	if (php_is_fiber(u, st)) {
		unwind_end(u, END_COMPLETE);
		return STEP_END;
	}
	if (!st->cfa)
		return STEP_UNWIND;
	u->cfa = st->cfa;
	if (slot->fp_below)
		u->fp_va = st->cfa - slot->fp_below;
	st->cfa = 0;
	return native_return(u, st->return_va) ? STEP_END : STEP_CALLER;
}

/* Begins a run: STEP_AGAIN if there are frames for it. */
static inline int php_begin(struct unwind *u, const struct php_slot *slot, struct php_state *st)
{
	if (u->map.lang && !st->cfa && php_generated(u, slot, st))
		return STEP_NATIVE;
	if (st->phase == PHP_START)
		st->phase = php_read(u, slot->current, &st->at) || !st->at ? PHP_DONE : PHP_BETWEEN;
	if (st->phase == PHP_DONE)
		return st->cfa ? php_leave(u, slot, st) : STEP_NATIVE;
	st->phase = PHP_INSIDE;
	return STEP_AGAIN;
}

/*
 * zend_call_function() is met before a run: the innermost frame may be that of a function which it is about to run.
 * That one has come no further than past its arguments.
 */
static inline int php_is_early(struct unwind *u, const struct php_slot *slot, const struct php_state *st)
{
	u64 opcodes = 0, passed;

	if (!((u32)st->frame[PHP_FRAME_FLAGS] & PHP_CALL_TOP) ||
	    php_read(u, st->frame[PHP_FRAME_FUNCTION] + slot->opcodes, &opcodes))
		return 0;
	passed = (st->frame[PHP_FRAME_FLAGS] >> 32) * PHP_OPLINE_BYTES;
	return st->frame[PHP_FRAME_OPLINE] - opcodes <= passed;
}

static inline int php_called(struct unwind *u, const struct php_slot *slot, struct php_state *st)
{
	if (st->phase != PHP_START)
		return STEP_NATIVE;
	st->phase = PHP_DONE;
	if (php_read(u, slot->current, &st->at) || !st->at || read_user(u, st->frame, sizeof(st->frame), st->at))
		return STEP_NATIVE;
	if (php_is_early(u, slot, st))
		st->at = st->frame[PHP_FRAME_PREVIOUS];
	st->phase = st->at ? PHP_BETWEEN : PHP_DONE;
	return STEP_NATIVE;
}

/* See lang/README.md: what to do with a run of the loop, or with generated code. */
static inline int runtime_step(struct unwind *u, const struct unwind_rule *rule)
{
	struct php_slot *slot = (void *)u->slot;
	struct php_state *st = (void *)u->state;
	int step;

	if (!u->map.lang && php_is_in(&slot->caller, u->regs.pc - u->is_return))
		return php_called(u, slot, st);
	if (st->phase != PHP_INSIDE) {
		step = php_begin(u, slot, st);
		if (step != STEP_AGAIN)
			return step;
	}
	LOOP_NO_UNROLL
	for (u64 i = 0; i < PHP_FRAMES_STEP; i++) {
		step = php_frame(u, slot, st);
		if (step != STEP_AGAIN)
			return step;
		if (st->phase != PHP_INSIDE)
			return php_leave(u, slot, st);
	}
	return STEP_AGAIN;
}

#endif
