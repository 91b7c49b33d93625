/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * One step through the frames of Ruby. Included by the kernel half, and by the
 * test that compiles it for the host. Needs before it what bpf/native.h needs,
 * and
 *
 *	u64 walk_thread_pointer(void);
 *	void ruby_keep(u64 iseq, u64 cookie, u64 body);
 *
 * the second of which copies the body of an instruction sequence that is new.
 *
 * rb_vm_exec() runs methods that call each other; where C code lies between
 * two of them there is another run of it. The outermost frame of each run is
 * flagged. Frames of functions written in C stand before those that call them:
 * their native code is shown inside of them. What rb_vm_exec() calls to
 * interpret, vm_exec_core(), is marked, too, and not shown; and so are those
 * that call it, which are native code as any. Code that YJIT has made is called
 * by either, has all its Ruby calls in one native frame, and keeps control
 * frames as the interpreter does.
 */
#ifndef LANG_RUBY_STEP_H
#define LANG_RUBY_STEP_H

#include "lang/list.h"
#include "native.h"
#include "ruby.h"

#define RUBY_FRAMES_STEP 16	/* frames looked at in one step */
#define RUBY_FRAMES_MAX (2 * WALK_FRAMES_MAX)	/* ... in a walk: some are not shown */
#define RUBY_SCOPES_MAX 16	/* blocks in blocks that are looked through for their method */
#define RUBY_TAIL_MAX 8		/* frames of C code below the outermost run */
#define RUBY_REG_FRAME (REG_RA == 30 ? 19 : 13)	/* where generated code has its control frame */
#define RUBY_STACK_WORDS 16	/* of generated code, up to its return address */

/* Where control frames are read into: u->words, behind all that can be pushed. One read gets several. */
#define RUBY_ROOM (KERNEL_FRAMES_MAX + USER_WORDS_MAX)
#define RUBY_ROOM_WORDS 64	/* a power of two */
_Static_assert(RUBY_ROOM + RUBY_ROOM_WORDS <= WORDS_MAX, "there is room");

enum ruby_phase {
	RUBY_START,		/* nothing is known of the thread */
	RUBY_BETWEEN,		/* `at` begins the frames of the next run */
	RUBY_INSIDE,		/* `at` is a frame of this run */
	RUBY_DONE,		/* no frames are left */
};

/* struct unwind's state[] */
struct ruby_state {
	u64 phase;		/* enum ruby_phase */
	u64 at, end_va;		/* the frame, and where the stack of frames ends */
	u64 window_va, window_bytes;	/* what is in the room */
	u64 frame;		/* where in there the frame is */
	u64 looked;		/* frames so far */
	u64 leaf_inside;	/* the loop itself was interrupted, or generated code */
	u64 leaf_frame;		/* ... with that frame in its register; 0: it was not generated code */
	u64 leaf_calls;		/* ... or one that calls it, or what that has called just now */
	u64 runs;
	u64 env[3];		/* the environment that was read last */
};
_Static_assert(sizeof(struct ruby_state) <= STATE_WORDS * sizeof(u64), "fits the state");
_Static_assert(sizeof(struct ruby_slot) <= SLOT_WORDS * sizeof(u64), "fits the slot");

static inline int ruby_read(struct unwind *u, u64 va, u64 *ret_word)
{
	return read_user(u, ret_word, sizeof(*ret_word), va);
}

static inline u64 ruby_word(struct unwind *u, const struct ruby_state *st, u64 index)
{
	return u->words[RUBY_ROOM + ((st->frame + index) & (RUBY_ROOM_WORDS - 1))];
}

/* The execution context of this thread, or 0. */
static inline u64 ruby_context(struct unwind *u, const struct ruby_slot *slot)
{
	u64 tp = walk_thread_pointer(), at = slot->context_at, context = 0, thread = 0, id = 0;

	if (slot->context == RUBY_CONTEXT_STATIC) {
		at += tp;
	} else if (slot->context == RUBY_CONTEXT_DYNAMIC) {
		u64 vector = 0, block = 0;

		if (ruby_read(u, tp + slot->vector, &vector) || ruby_read(u, vector + slot->vector_at, &block))
			return 0;
		at += block;
	}
	if (ruby_read(u, at, &context) || !context)
		return 0;
	if (slot->context == RUBY_CONTEXT_GLOBAL &&
	    (ruby_read(u, context + slot->context_thread, &thread) || ruby_read(u, thread + slot->thread_id, &id) ||
	     id != tp))
		return 0;
	return context;
}

static inline int ruby_start(struct unwind *u, const struct ruby_slot *slot, struct ruby_state *st)
{
	u64 context = ruby_context(u, slot);

	st->phase = RUBY_DONE;
	/* Where its stack begins, how many words it has, and the innermost frame: env is as good a place as any. */
	if (!context || read_user(u, st->env, sizeof(st->env), context))
		return STEP_NATIVE;
	st->at = st->env[2];
	st->end_va = st->env[0] + st->env[1] * sizeof(u64);
	if (st->at < st->env[0] || st->at >= st->end_va || st->at & 7)
		return STEP_NATIVE;
	st->phase = RUBY_BETWEEN;
	return STEP_AGAIN;
}

static inline int ruby_broken(struct unwind *u)
{
	unwind_end(u, END_RUNTIME);
	return STEP_END;
}

/* Gets the control frame at st->at: st->frame. 0, or less if it cannot be read. */
static inline int ruby_load(struct unwind *u, struct ruby_state *st)
{
	const u64 window = RUBY_ROOM_WORDS * sizeof(u64);
	u64 offset = st->at - st->window_va;

	if (offset < window && offset + RUBY_FRAME_READ <= st->window_bytes) {
		st->frame = offset / 8;
		return 0;
	}
	st->window_va = st->at;
	st->window_bytes = window;
	st->frame = 0;
	if (!read_user(u, &u->words[RUBY_ROOM], RUBY_ROOM_WORDS * sizeof(u64), st->at))
		return 0;
	st->window_bytes = RUBY_FRAME_READ;
	return read_user(u, &u->words[RUBY_ROOM], RUBY_FRAME_READ, st->at);
}

/* The method entry behind what an environment has for one, or 0: it may be inside of another object, or none. */
static inline u64 ruby_entry(struct unwind *u, struct ruby_slot *slot, u64 va)
{
	u64 at = (va >> 3 ^ va >> 6) & (RUBY_SEEN - 1), words[2], method = 0;

	if (va & 7)
		return 0;
	if (slot->entries[at].va == va)
		return slot->entries[at].method;
	if (read_user(u, words, sizeof(words), va))
		return 0;
	if ((words[0] & RUBY_IMEMO_MASK) == RUBY_IMEMO_METHOD)
		method = va;
	else if ((words[0] & RUBY_IMEMO_MASK) == RUBY_IMEMO_SVAR && !ruby_read(u, words[1], &words[0]) &&
		 (words[0] & RUBY_IMEMO_MASK) == RUBY_IMEMO_METHOD)
		method = words[1];
	slot->entries[at].va = va;
	slot->entries[at].method = method;
	return method;
}

/* The method that the frame belongs to, or 0; its environment is in st->env. */
static inline u64 ruby_method(struct unwind *u, struct ruby_slot *slot, struct ruby_state *st)
{
	u64 method;

	LOOP_NO_UNROLL
	for (u64 i = 0; i < RUBY_SCOPES_MAX; i++) {
		method = st->env[0] ? ruby_entry(u, slot, st->env[0]) : 0;
		if (method || st->env[2] & RUBY_FLAG_LOCAL)
			return method;
		if (read_user(u, st->env, sizeof(st->env), (st->env[1] & ~3ull) - RUBY_ENV_BELOW))
			return 0;
	}
	return 0;
}

/* Where the code of an instruction sequence is: 0, or less. What recurses is read once. */
static inline int ruby_code(struct unwind *u, struct ruby_slot *slot, u64 iseq, u64 *ret_code, u64 *ret_cookie)
{
	u64 at = (iseq >> 3 ^ iseq >> 6) & (RUBY_SEEN - 1), body = 0, code = 0;

	if (slot->seen[at].iseq != iseq) {
		if (ruby_read(u, iseq + RUBY_ISEQ_BODY, &body) || ruby_read(u, body + RUBY_BODY_CODE, &code))
			return -1;
		slot->seen[at].iseq = iseq;
		slot->seen[at].code = code;
		slot->seen[at].cookie = ruby_cookie(code);
		if (unwind_meet(u, iseq ^ ruby_cookie(code) << FRAME_LANG_SHIFT))
			ruby_keep(iseq, ruby_cookie(code), body);
	}
	*ret_code = slot->seen[at].code;
	*ret_cookie = slot->seen[at].cookie;
	return 0;
}

static inline int ruby_push(struct unwind *u, u64 method, u64 cookie, u64 iseq, u64 instruction)
{
	return unwind_push_runtime(u, LANG_RUBY, method >> 3 << RUBY_COOKIE_BITS | cookie,
				   iseq >> 3 << RUBY_INSTRUCTION_BITS | instruction);
}

/*
 * Is the innermost frame not of the run that the walk has come to? The first frame of a run is pushed by who is about
 * to call it, and gone a little before it ends.
 */
static inline int ruby_is_early(const struct ruby_state *st, u64 flags, u64 instruction)
{
	return !st->runs && st->leaf_calls && flags & RUBY_FLAG_FINISH && !instruction;
}

/* Generated code pushes frames of C functions, too, but keeps its own in the register. */
static inline int ruby_is_over(const struct ruby_slot *slot, const struct ruby_state *st, u64 flags)
{
	return !st->runs && st->leaf_inside && flags & RUBY_FLAG_C && st->leaf_frame != st->at + slot->frame_bytes;
}

/* A frame of Ruby code: 1 if it is shown. */
static inline int ruby_interpreted(struct unwind *u, struct ruby_slot *slot, struct ruby_state *st)
{
	u64 pc = ruby_word(u, st, RUBY_FRAME_PC), iseq = ruby_word(u, st, RUBY_FRAME_ISEQ), code, cookie, instruction;

	if (!pc)
		return 0;
	if (ruby_code(u, slot, iseq, &code, &cookie))
		return -1;
	instruction = pc < code ? RUBY_INSTRUCTION_NONE : (pc - code) / 8;
	if (instruction > RUBY_INSTRUCTION_NONE)
		instruction = RUBY_INSTRUCTION_NONE;
	if (ruby_is_early(st, st->env[2], instruction))
		return 2;
	return ruby_push(u, ruby_method(u, slot, st), cookie, iseq, instruction) ? -2 : 1;
}

/* Reads a frame and its environment: 0, or less. */
static inline int ruby_look(struct unwind *u, struct ruby_state *st)
{
	return ruby_load(u, st) ||
	       read_user(u, st->env, sizeof(st->env), ruby_word(u, st, RUBY_FRAME_EP) - RUBY_ENV_BELOW) ? -1 : 0;
}

/* A frame of C code; some are nobody's function. 0, or less if there is no room. */
static inline int ruby_c_function(struct unwind *u, struct ruby_slot *slot, struct ruby_state *st)
{
	if ((st->env[2] & RUBY_TYPE_MASK) != RUBY_TYPE_CFUNC)
		return 0;
	return ruby_push(u, ruby_entry(u, slot, st->env[0]), 0, 0, RUBY_INSTRUCTION_NONE);
}

/* One frame of the run: pushed, and st->at moved on. STEP_AGAIN if there may be more. */
static inline int ruby_frame(struct unwind *u, struct ruby_slot *slot, struct ruby_state *st)
{
	u64 flags;
	int shown = 1;

	if (st->at >= st->end_va || st->looked++ >= RUBY_FRAMES_MAX || ruby_look(u, st))
		return ruby_broken(u);
	flags = st->env[2];
	if (ruby_is_over(slot, st, flags)) {
		st->phase = RUBY_BETWEEN;
		st->runs++;
		return STEP_NATIVE;
	}
	if (!(flags & RUBY_FLAG_C))
		shown = ruby_interpreted(u, slot, st);
	else if (ruby_c_function(u, slot, st))
		shown = -2;
	if (shown < 0)
		return shown == -1 ? ruby_broken(u) : STEP_END;
	st->at += slot->frame_bytes;
	if (shown == 2)
		st->runs++;
	else if (flags & RUBY_FLAG_FINISH)
		st->phase = RUBY_BETWEEN;
	return STEP_AGAIN;
}

/* Are only frames of C code left, up to the end? */
static inline int ruby_is_tail(struct unwind *u, const struct ruby_slot *slot, struct ruby_state *st)
{
	u64 first = st->at, all = st->end_va - st->at <= RUBY_TAIL_MAX * slot->frame_bytes;

	LOOP_NO_UNROLL
	for (u64 i = 0; all && i < RUBY_TAIL_MAX && st->at < st->end_va; i++) {
		all = !ruby_look(u, st) && st->env[2] & RUBY_FLAG_C;
		st->at += slot->frame_bytes;
	}
	st->at = first;
	return all;
}

/*
 * A run is done. What began the thread or fiber may be a function written in C: it has no run of its own to be shown
 * with.
 */
static inline int ruby_leave(struct unwind *u, struct ruby_slot *slot, struct ruby_state *st)
{
	st->runs++;
	if (!ruby_is_tail(u, slot, st))
		return STEP_UNWIND;
	LOOP_NO_UNROLL
	for (u64 i = 0; i < RUBY_TAIL_MAX && st->at < st->end_va; i++) {
		if (ruby_look(u, st))
			return ruby_broken(u);
		if (ruby_c_function(u, slot, st))
			return STEP_END;
		st->at += slot->frame_bytes;
	}
	st->phase = RUBY_DONE;
	u->ends_at_zero = 1;
	return STEP_UNWIND;
}

/*
 * Code that YJIT has made: the only address of Ruby's own code that it has on the stack is its return address. What it
 * does is what its frames say: it is not shown itself.
 */
static inline int ruby_generated(struct unwind *u, const struct ruby_slot *slot, struct ruby_state *st)
{
	u64 sp = u->regs.reg[REG_SP], word;

	if (u->is_leaf) {
		st->leaf_inside = 1;
		st->leaf_frame = u->regs.reg[RUBY_REG_FRAME];
	}
	LOOP_NO_UNROLL
	for (u64 i = 0; i < RUBY_STACK_WORDS; i++) {
		if (ruby_read(u, sp + i * 8, &word))
			return STEP_NATIVE;
		if (word - slot->text.start_va >= slot->text.end_va - slot->text.start_va)
			continue;
		/* Where it keeps a frame pointer, that is the word before. */
		if (i && !native_fp(u) && u->regs.reg[REG_FP] == sp + i * 8 - 8)
			u->fp_va = sp + i * 8 - 8;
		u->cfa = sp + i * 8 + 8;
		return native_return(u, word) ? STEP_END : STEP_CALLER;
	}
	return STEP_NATIVE;
}

static inline int ruby_is_in(const struct unwind *u, const struct ruby_code code[2])
{
	u64 va = u->regs.pc - u->is_return;

	return va - code[0].start_va < code[0].end_va - code[0].start_va ||
	       va - code[1].start_va < code[1].end_va - code[1].start_va;
}

/* See lang/README.md: what to do with a run of the loop, or with generated code. */
static inline int runtime_step(struct unwind *u, const struct unwind_rule *rule)
{
	struct ruby_slot *slot = (void *)u->slot;
	struct ruby_state *st = (void *)u->state;
	int in_exec, in_core, step;

	if (u->map.lang)
		return ruby_generated(u, slot, st);
	in_exec = ruby_is_in(u, slot->exec);
	in_core = ruby_is_in(u, slot->core);
	if (st->phase == RUBY_START) {
		st->leaf_inside |= u->is_leaf && (in_exec || in_core);
		st->leaf_calls = u->trace.frame_count <= 1 && !in_exec && !in_core;
		step = ruby_start(u, slot, st);
		if (step != STEP_AGAIN)
			return step;
	}
	if (st->phase == RUBY_DONE || (!in_exec && !in_core))
		return STEP_NATIVE;
	if (in_core)
		return STEP_UNWIND;	/* its run is the caller's */
	if (st->phase == RUBY_BETWEEN) {
		st->phase = st->at < st->end_va ? RUBY_INSIDE : RUBY_DONE;
		if (st->phase == RUBY_DONE)
			return STEP_NATIVE;
	}
	LOOP_NO_UNROLL
	for (u64 i = 0; i < RUBY_FRAMES_STEP; i++) {
		step = ruby_frame(u, slot, st);
		if (step != STEP_AGAIN)
			return step;
		if (st->phase == RUBY_BETWEEN)
			return ruby_leave(u, slot, st);
	}
	return STEP_AGAIN;
}

#endif
