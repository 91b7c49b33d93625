/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * One step through the frames of Perl. Included by the kernel half, and by the
 * test that compiles it for the host. Needs before it what bpf/native.h needs,
 * and
 *
 *	u64 walk_thread_pointer(void);
 *	void perl_keep(const struct perl_slot *slot, u64 low, u64 second);
 *	int perl_next(struct unwind *u);
 *
 * the second of which copies the names of what is gone soon; the third is
 * perl_one(), by a function that the verifier looks at once, not at each turn.
 *
 * Perl_runops_standard() runs operation after operation; subs that call each
 * other are contexts on a stack, all in one run of it. Where C code lies between
 * two of them there is another run. A sub that C code has called returns to no
 * operation, which ends its run; so does the end of a stack, since whoever
 * begins a new one runs what is on it. The third way is an eval that catches
 * die() by itself, since what is around it does not: docatch() makes a run
 * for it, and the eval tells of the buffer of its setjmp(), which lies in
 * docatch()'s frame, the caller of the run.
 *
 * What an operation does natively is shown as it is called: Perl_pp_sort(), say.
 */
#ifndef LANG_PERL_STEP_H
#define LANG_PERL_STEP_H

#include "lang/list.h"
#include "native.h"
#include "perl.h"

#define PERL_CONTEXTS_STEP 16	/* contexts looked at in one step */
#define PERL_CONTEXTS_MAX (4 * WALK_FRAMES_MAX)	/* ... in a walk: loops and blocks have some, too */
#define PERL_PASSED_MAX 8	/* stacks and contexts that are passed over between runs */
#define PERL_ENV_FRAME_MAX 1024	/* bytes of docatch()'s frame */
#define PERL_OP_MAX (64u << 10)	/* an operation on the stack is so near */

/* Where contexts are read into: u->words, behind all that can be pushed. One read gets several, the last first. */
#define PERL_ROOM (KERNEL_FRAMES_MAX + USER_WORDS_MAX)
#define PERL_ROOM_WORDS 128	/* a power of two */
_Static_assert(PERL_ROOM + PERL_ROOM_WORDS <= WORDS_MAX, "there is room");

enum perl_phase {
	PERL_START,		/* nothing is known of the thread */
	PERL_BETWEEN,		/* the next context begins those of the next run */
	PERL_INSIDE,		/* ... is one of this run */
	PERL_DONE,		/* none are left */
};

/* struct unwind's state[] */
struct perl_state {
	u32 phase;		/* enum perl_phase */
	u32 looked;		/* contexts so far */
	u64 info;		/* the stack of contexts */
	u64 contexts;		/* ... where they are */
	u64 left;		/* ... how many are left of them */
	u64 previous;		/* ... the stack before it */
	u64 cop;		/* where the next frame had come to */
	u64 op;			/* the operation that was interrupted */
	u64 window_va;		/* what is in the room */
	u32 window_bytes;
	u32 context;		/* where in there the context is */
	u32 has_run;		/* it is not the first run */
	u32 may_catch;		/* neither call_sv() nor eval_sv() has called this run */
	u64 cfa, return_va;	/* of this run */
	/* Of the last eval in this run that docatch() has called it for; 0: none. */
	u64 caught_left, caught_cop;
	u32 caught_frames, caught_words;
};
_Static_assert(sizeof(struct perl_state) <= STATE_WORDS * sizeof(u64), "fits the state");
_Static_assert(sizeof(struct perl_slot) <= SLOT_WORDS * sizeof(u64), "fits the slot");

static inline int perl_read(struct unwind *u, u64 va, u64 *ret_word)
{
	return read_user(u, ret_word, sizeof(*ret_word), va);
}

static inline u64 perl_word(struct unwind *u, const struct perl_state *st, u64 index)
{
	return u->words[PERL_ROOM + ((st->context + index) & (PERL_ROOM_WORDS - 1))];
}

static inline int perl_broken(struct unwind *u)
{
	unwind_end(u, END_RUNTIME);
	return STEP_END;
}

/* The interpreter of this thread, or 0; without threads what is said of it are addresses. */
static inline int perl_interpreter(struct unwind *u, const struct perl_slot *slot, u64 *ret_va)
{
	u64 at = walk_thread_pointer() + slot->value;

	*ret_va = 0;
	if (!slot->has_threads)
		return 0;
	if (slot->is_in_block) {
		if (perl_read(u, at, &at) || !at)
			return -1;
		at += slot->value_in_block;
	}
	return perl_read(u, at, ret_va) || !*ret_va ? -1 : 0;
}

/* Goes to a stack of contexts: 0, or less. */
static inline int perl_enter(struct unwind *u, struct perl_state *st, u64 info)
{
	u64 words[PERL_INFO_WORDS - 1];
	u32 last, room;

	if (!info || read_user(u, words, sizeof(words), info))
		return -1;
	last = (u32)words[PERL_INFO_COUNT];
	room = (u32)(words[PERL_INFO_COUNT] >> 32);
	/* The number of the last: -1 if there is none. */
	if (last != ~0u && (last > room || room > 1u << 26))
		return -1;
	st->info = info;
	st->contexts = words[PERL_INFO_CONTEXTS];
	st->previous = words[PERL_INFO_PREVIOUS];
	st->left = (u32)(last + 1);
	return 0;
}

static inline int perl_start(struct unwind *u, const struct perl_slot *slot, struct perl_state *st)
{
	u64 interpreter, info;

	st->phase = PERL_DONE;
	if (perl_interpreter(u, slot, &interpreter) || perl_read(u, interpreter + slot->op, &st->op) ||
	    perl_read(u, interpreter + slot->cop, &st->cop) || perl_read(u, interpreter + slot->info, &info) ||
	    perl_enter(u, st, info))
		return -1;
	st->phase = PERL_BETWEEN;
	return 0;
}

/* Gets the context with that number: st->context. 0, or less if it cannot be read. */
static inline int perl_load(struct unwind *u, const struct perl_slot *slot, struct perl_state *st, u64 number)
{
	const u64 window = PERL_ROOM_WORDS * sizeof(u64);
	u64 at = st->contexts + number * slot->context_bytes, offset = at - st->window_va;
	u64 before = window - slot->context_bytes;

	if (offset < window && offset + slot->context_bytes <= st->window_bytes) {
		st->context = offset / 8;
		return 0;
	}
	/* With those before it, which come next; as far as they are of this stack. */
	if (before > at - st->contexts)
		before = at - st->contexts;
	before &= ~7ull;
	st->window_va = at - before;
	st->window_bytes = before + slot->context_bytes;
	st->context = before / 8;
	if (!read_user(u, &u->words[PERL_ROOM], PERL_ROOM_WORDS * sizeof(u64), st->window_va))
		return 0;
	st->window_va = at;
	st->window_bytes = slot->context_bytes;
	st->context = 0;
	return slot->context_bytes <= window ?
		       read_user(u, &u->words[PERL_ROOM], slot->context_bytes & (PERL_ROOM_WORDS * 8 - 1), at) : -1;
}

/* The second word of a frame: what file and line a statement is in. */
static inline u64 perl_place(struct unwind *u, struct perl_slot *slot, u64 cop)
{
	u64 at = (cop >> 4 ^ cop >> 9) & (PERL_SEEN - 1), words[3], line;

	if (slot->places[at].cop == cop)
		return slot->places[at].second;
	if (!cop || read_user(u, words, sizeof(words), cop + PERL_COP_LINE))
		return 0;
	line = words[0] >> 32;
	if (line > PERL_LINE_MASK)
		line = 0;
	slot->places[at].cop = cop;
	slot->places[at].second = (words[2] & 7 ? 0 : words[2] >> 3) << PERL_LINE_BITS | line;
	return slot->places[at].second;
}

/* The first word of a sub's frame: 0, or less if it is none. What recurses is read once. */
static inline int perl_sub(struct unwind *u, struct perl_slot *slot, u64 code, u64 *ret_low)
{
	u64 at = (code >> 4 ^ code >> 9) & (PERL_SEEN - 1), head[2], name, flags, type;

	if (slot->subs[at].code != code || !code) {
		if (read_user(u, head, sizeof(head), code) || perl_read(u, head[0] + PERL_CODE_NAME, &name) ||
		    perl_read(u, head[0] + PERL_CODE_FLAGS, &flags))
			return -1;
		type = head[1] >> 32 & PERL_SV_TYPE_MASK;
		if (type != PERL_SV_CODE && type != PERL_SV_FORMAT)
			return -1;
		slot->subs[at].code = code;
		slot->subs[at].low = flags >> 32 & PERL_CODE_NAMED ? code >> 3 << PERL_KIND_BITS | PERL_SUB_CODE :
								     name >> 3 << PERL_KIND_BITS | PERL_SUB_GLOB;
	}
	*ret_low = slot->subs[at].low;
	return 0;
}

static __always_inline int perl_push(struct unwind *u, struct perl_slot *slot, struct perl_state *st, u64 low)
{
	u64 second = perl_place(u, slot, st->cop), kind = low & PERL_KIND_MASK;

	if ((kind == PERL_EVAL_TEXT || kind == PERL_REQUIRE) && unwind_meet(u, low << FRAME_LANG_SHIFT ^ second))
		perl_keep(slot, low, second);
	return unwind_push_runtime(u, LANG_PERL, low, second);
}

/* Is this a run that docatch() has made for that eval, or one in it? */
static inline int perl_is_caught(struct unwind *u, const struct perl_state *st, u64 env)
{
	u64 before = 0;

	/* The outermost buffer of all is that of the whole program. */
	return st->may_catch && env - st->cfa < PERL_ENV_FRAME_MAX && !perl_read(u, env, &before) &&
	       !perl_read(u, before, &before) && before;
}

/*
 * An eval of such a run may be its outermost context, or there is another: what is outside of it is taken back at the
 * end of the run, unless one more was met.
 */
static inline void perl_note_caught(struct unwind *u, struct perl_state *st)
{
	st->caught_left = st->left;
	st->caught_cop = st->cop;
	st->caught_frames = u->trace.frame_count;
	st->caught_words = u->trace.user_count;
}

#define PERL_ENDS_RUN 1		/* it is the outermost context of its run */

/* A context that is loaded, and st->left counts it: 0, PERL_ENDS_RUN, or less: -1 makes no sense, -2 has no room. */
static inline int perl_sub_context(struct unwind *u, struct perl_slot *slot, struct perl_state *st, u64 type)
{
	u64 cop = perl_word(u, st, PERL_CONTEXT_COP), back = perl_word(u, st, PERL_CONTEXT_RETURN), low;

	if ((type & PERL_TYPE_MASK) == PERL_TYPE_FORMAT || !(type & PERL_SUB_FAKE)) {
		/* The innermost may be one that is just being made. */
		if (perl_sub(u, slot, perl_word(u, st, slot->sub_code), &low))
			return st->looked == 1 ? 0 : -1;
		if (perl_push(u, slot, st, low))
			return -2;
		st->cop = cop;
	}
	return back ? 0 : PERL_ENDS_RUN;
}

static inline int perl_eval_context(struct unwind *u, struct perl_slot *slot, struct perl_state *st, u64 type)
{
	u64 cop = perl_word(u, st, PERL_CONTEXT_COP), back = perl_word(u, st, PERL_CONTEXT_RETURN);
	u64 name = perl_word(u, st, slot->eval_name), env = perl_word(u, st, slot->eval_env), low;

	if (type & PERL_EVAL_IS_BLOCK) {
		if (!back)
			return 0;	/* C code's own */
		low = PERL_EVAL_BLOCK;
	} else {
		low = name ? name >> 3 << PERL_KIND_BITS | PERL_REQUIRE : PERL_EVAL_TEXT;
	}
	if (!(type & PERL_EVAL_IS_BLOCK && type & PERL_EVAL_TRY)) {
		if (perl_push(u, slot, st, low))
			return -2;
		st->cop = cop;
	}
	if (!back)
		return PERL_ENDS_RUN;
	if (perl_is_caught(u, st, env))
		perl_note_caught(u, st);
	return 0;
}

static inline int perl_context(struct unwind *u, struct perl_slot *slot, struct perl_state *st)
{
	u64 type = perl_word(u, st, PERL_CONTEXT_TYPE) & 0xff;

	switch (type & PERL_TYPE_MASK) {
	case PERL_TYPE_SUB:
	case PERL_TYPE_FORMAT:
		return perl_sub_context(u, slot, st, type);
	case PERL_TYPE_EVAL:
		return perl_eval_context(u, slot, st, type);
	case PERL_TYPE_DEFER:
		return PERL_ENDS_RUN;
	default:
		return 0;
	}
}

/* The run has ended: with its outermost context, or since no contexts are left. The first stack is the program's. */
static inline int perl_end_run(struct unwind *u, struct perl_slot *slot, struct perl_state *st, int is_at_end)
{
	st->has_run = 1;
	st->phase = PERL_BETWEEN;
	if (st->caught_left) {
		unwind_give_back(u, st->caught_frames, st->caught_words);
		st->left = st->caught_left - 1;
		st->cop = st->caught_cop;
	} else if (is_at_end && !st->previous) {
		st->phase = PERL_DONE;
		if (perl_push(u, slot, st, PERL_PROGRAM))
			return STEP_END;
	}
	return STEP_UNWIND;
}

/* One context of the run: pushed, and passed. STEP_UNWIND if it was the last. */
static inline int perl_one(struct unwind *u, struct perl_slot *slot, struct perl_state *st)
{
	int r;

	if (!st->left)
		return perl_end_run(u, slot, st, 1);
	if (st->looked++ >= PERL_CONTEXTS_MAX || perl_load(u, slot, st, st->left - 1))
		return perl_broken(u);
	r = perl_context(u, slot, st);
	if (r < 0)
		return r == -1 ? perl_broken(u) : STEP_END;
	st->left--;
	return r == PERL_ENDS_RUN ? perl_end_run(u, slot, st, 0) : STEP_AGAIN;
}

static inline int perl_is_in(const struct perl_code *code, u64 va)
{
	return va - code->start_va < code->end_va - code->start_va;
}

/*
 * A comparison, or a block that a module calls again and again, has a stack of its own also between its runs. Then
 * there is no operation or, just before a run, its first; but Perl itself has called the run that the walk has come to.
 */
static inline int perl_is_idle(struct unwind *u, const struct perl_slot *slot, struct perl_state *st)
{
	u32 type = 0;

	if (read_user(u, &type, sizeof(type), st->info + slot->info_type) || !st->left)
		return 0;
	if (type == PERL_INFO_SORT)
		return !st->op;
	return type == PERL_INFO_MULTICALL &&
	       (!st->op || (perl_is_in(&slot->text, st->return_va) && !perl_load(u, slot, st, 0) &&
			    !(perl_word(u, st, PERL_CONTEXT_TYPE) & PERL_SUB_PATTERN)));
}

/* Was the sub entered just now by C code, which has not begun to run it? Its call is an operation on the stack. */
static inline int perl_is_early(struct unwind *u, const struct perl_slot *slot, struct perl_state *st)
{
	return u->regs.reg[REG_SP] - st->op < PERL_OP_MAX && st->left && !perl_load(u, slot, st, st->left - 1) &&
	       (perl_word(u, st, PERL_CONTEXT_TYPE) & PERL_TYPE_MASK) == PERL_TYPE_SUB &&
	       !perl_word(u, st, PERL_CONTEXT_RETURN) && perl_word(u, st, PERL_CONTEXT_COP) == st->cop;
}

/* What is on the stacks, but of no run, is passed over. */
static inline void perl_first_run(struct unwind *u, const struct perl_slot *slot, struct perl_state *st)
{
	if (perl_is_idle(u, slot, st))
		st->left = 0;
	else if (perl_is_early(u, slot, st))
		st->left--;
}

/* A stack without contexts, and the eval that call_sv() makes before the sub that it calls: they are of no run. */
static inline int perl_is_passed(struct unwind *u, const struct perl_slot *slot, struct perl_state *st)
{
	const u64 block = PERL_TYPE_EVAL | PERL_EVAL_IS_BLOCK;

	if (!st->left)
		return st->previous != 0;
	return !perl_load(u, slot, st, st->left - 1) &&
	       (perl_word(u, st, PERL_CONTEXT_TYPE) & (PERL_TYPE_MASK | PERL_EVAL_IS_BLOCK)) == block &&
	       !perl_word(u, st, PERL_CONTEXT_RETURN);
}

/* Who has called this run? */
static inline void perl_find_caller(struct unwind *u, const struct perl_slot *slot, struct perl_state *st,
				    const struct unwind_rule *rule)
{
	st->return_va = 0;
	st->may_catch = 0;
	st->caught_left = 0;
	if (!rule || rule->kind != RULE_CFA || rule->saved >> 4 == RA_IN_REG || native_cfa(u, rule) ||
	    perl_read(u, u->cfa + (REG_RA == 30 ? (s64)rule->cfa_add : 0) + (s64)rule->ra_off, &st->return_va))
		return;
	st->cfa = u->cfa;
	st->may_catch = !perl_is_in(&slot->callers[0], st->return_va) && !perl_is_in(&slot->callers[1], st->return_va);
}

/* Goes to the contexts of the run that the walk has come to: STEP_AGAIN if there are some. */
static inline int perl_begin(struct unwind *u, const struct perl_slot *slot, struct perl_state *st,
			     const struct unwind_rule *rule)
{
	perl_find_caller(u, slot, st, rule);
	if (!st->has_run)
		perl_first_run(u, slot, st);
	LOOP_NO_UNROLL
	for (u64 i = 0; i < PERL_PASSED_MAX && perl_is_passed(u, slot, st); i++) {
		if (st->left)
			st->left--;
		else if (perl_enter(u, st, st->previous))
			return perl_broken(u);
	}
	st->phase = st->left ? PERL_INSIDE : PERL_DONE;
	return st->left ? STEP_AGAIN : STEP_NATIVE;
}

/* See lang/README.md: what to do with a run. */
static inline int runtime_step(struct unwind *u, const struct unwind_rule *rule)
{
	struct perl_slot *slot = (void *)u->slot;
	struct perl_state *st = (void *)u->state;
	int step = STEP_AGAIN;

	if (st->phase == PERL_START && perl_start(u, slot, st))
		return STEP_NATIVE;
	if (st->phase == PERL_DONE)
		return STEP_NATIVE;
	if (st->phase == PERL_BETWEEN) {
		step = perl_begin(u, slot, st, rule);
		if (step != STEP_AGAIN)
			return step;
	}
	LOOP_NO_UNROLL
	for (u64 i = 0; i < PERL_CONTEXTS_STEP && step == STEP_AGAIN; i++)
		step = perl_next(u);
	return step;
}

#endif
