/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * The state of the unwind in progress, and what every unwinder does with it:
 * look up tables, read user memory, push frames, end with a reason.
 *
 * This header and native.h are compiled three times: for the kernel (with
 * bpf/tables.h below them), into the agent, which unwinds copies of stacks
 * with them (src/tracer/slice.c), and into unit tests. Whoever includes them
 * supplies first:
 *
 *	const struct map_entry *table_map(u32 index);
 *	struct page_entry *table_page(u32 index);			absent to user space, too: not read yet
 *	const struct rows_chunk *table_chunk(u32 index);
 *	const struct unwind_rule *table_rule(u32 index);
 *	struct place *table_place(struct unwind *u, u64 va);		where what is known of va is kept, or NULL
 *	int read_user(struct unwind *u, void *to, u32 bytes, u64 va);	0, or less than 0
 *	int read_code(struct unwind *u, void *to, u32 bytes, u64 va);	the same of code: 0, or less than 0
 *	int may_return(struct unwind *u, u64 return_va);		0 if what was read last is not to be believed
 *	u64 strip_pac(struct unwind *u, u64 va);			a return address without its signature (arm64)
 *	int runtime_enter(struct unwind *u, u32 lang, const struct unwind_rule *rule);	enum step, see native_step()
 *	LOOP_NO_UNROLL							a pragma, or nothing
 *
 * Search state lives in this struct, in map memory, and is volatile: the
 * verifier does not track its value there, and so does not try to tell apart
 * all that a search can come to.
 */
#ifndef BPF_UNWIND_H
#define BPF_UNWIND_H

#include "abi.h"

/* Kernel addresses, what the thread says, then either frames or a slice, which is the larger. */
#define WORDS_MAX (KERNEL_FRAMES_MAX + 1 + (SLICE_BYTES_MAX + sizeof(struct slice_regs)) / 8)
_Static_assert(WORDS_MAX >= LEADING_WORDS_MAX + USER_WORDS_MAX, "the frames fit");

#define STATE_WORDS 16
#define MET_MAX 128		/* a power of two */

/*
 * What was found out about an address of code. Callers are met again and again: to look at one line of memory here is
 * faster than to search the tables, most of which the program that was interrupted has driven out of the caches.
 */
struct place {
	u64 va;
	u64 maps_serial;	/* of the process's mappings; 0: nothing is kept here */
	u64 frame;		/* its word */
	struct unwind_rule rule;
	u64 lang;		/* the runtime whose code it is, or 0 */
	u64 pad[2];
};
_Static_assert(sizeof(struct place) == 64, "a line of the cache");

#define PLACES_MAX 512	/* of one CPU; a power of two */

static inline u64 place_index(u64 va)
{
	return va * 0x9e3779b97f4a7c15ull >> 32 & (PLACES_MAX - 1);
}

/* What the unwinder of a language says of the frame it was asked about. */
enum step {
	STEP_AGAIN,	/* pushed one of its frames; there may be more at the same place */
	STEP_UNWIND,	/* the native frame is not shown; its caller is found by its rule */
	STEP_NATIVE,	/* the frame is shown as a native one, and its caller found as that of one */
	STEP_CALLER,	/* the registers are the caller's */
	STEP_END,	/* the stack has ended: u->trace.end says why */
	STEP_SWITCH,	/* the program of u->lang takes over */
};

/* struct sigcontext_64 (arch/x86/include/uapi/asm/sigcontext.h) */
struct signal_regs {
	u64 r8_15[8], di, si, bp, bx, dx, ax, cx, sp, ip;
};

#define GUESS_OF_LEAF   1	/* the caller of an interrupted function */
#define GUESS_OF_CALLER 2

struct unwind {
	struct slice_regs regs;	/* of the current frame; only pc, sp, fp are known outside the leaf */
	struct map_entry map;	/* the mapping found last: callers tend to be in the same */
	volatile u64 lo, hi, mid;	/* of the search in progress */
	u64 cfa;
	u64 fp_va, bx_va;	/* where fp and rbx were saved last, read only if a rule asks; 0: in the register */
	u64 ea;
	u32 map_first, map_count;
	u64 maps_serial;
	union {
		u64 page_word;
		struct page_entry page;	/* as it was when it was looked at */
	};
	u32 rule;
	u32 rows_absent;	/* the walk has met code whose rows are not here */
	struct unwind_rule here;	/* of the current frame, whether it was kept or looked up */
	u8 is_leaf;		/* all registers are known */
	u8 is_return;		/* pc is a return address */
	u8 is_guess;		/* found without a rule: GUESS_... */
	u8 busy;
	u8 sp_lost;		/* sp is only a lower bound: see native_frame_pointer() */
	u8 lang;		/* the runtime whose program is to take over; 0: none */
	u8 lang_here;		/* ... whose program this is, and whose slot is in slot[] */
	u8 switch_count;	/* programs that took over so far */
	u8 is_unsure;		/* some frames may be missing: the stack goes on, but is not called whole */
	u8 ends_at_zero;	/* the runtime says that its frames end here: so does the stack, at no return address */
	u32 slice_pid;		/* whose stack was copied last */
	u32 holes;		/* in the slice that is being taken */
	u32 first_slot;		/* of the process; 0: it has no runtimes */
	u32 langs_off;		/* bit n: runtime n has no program; its code is walked as native */
	u32 stack_switches;	/* from one stack to another so far */
	u32 spared, weight;	/* ticks left out so far; those that this sample stands for */
	u32 frames_max;		/* see struct pace */
	struct signal_regs signal;	/* read here: the stack of the program is short (x86-64) */
	u64 user_va_mask;	/* bits of a user address; the rest of a return address is its signature (arm64) */
	u64 met[MET_MAX];	/* frames that this CPU has met before, and their processes: see unwind_meet() */
	u64 state[STATE_WORDS];	/* the language's own, of this walk */
	u64 slot[SLOT_WORDS];	/* the language's words of this process */
	struct trace_record trace;
	u64 words[WORDS_MAX];
};

/* The per-CPU allocator has no larger blocks. */
_Static_assert(sizeof(struct unwind) <= 32768, "fits a per-CPU value");

static inline int unwind_end(struct unwind *u, u8 why)
{
	u->trace.end = why;
	return -1;
}

/* A frame past the leaf's part: it takes the place of the oldest one there, if there is no other. */
static inline int unwind_push_deep(struct unwind *u, u64 first, u64 second)
{
	u32 number = u->trace.frame_count - LEAF_FRAMES_MAX;
	u64 at = (u64)u->trace.kernel_count + u->trace.user_count;

	if (u->trace.frame_count >= WALK_FRAMES_MAX)
		return unwind_end(u, END_TRUNCATED);
	if (number >= ROOT_FRAMES_MAX)
		at -= 2 * (ROOT_FRAMES_MAX - number % ROOT_FRAMES_MAX);
	if (at >= LEADING_WORDS_MAX + USER_WORDS_MAX - 1)
		return unwind_end(u, END_TRUNCATED);
	u->words[at] = first;
	u->words[at + 1] = second;
	if (number < ROOT_FRAMES_MAX)
		u->trace.user_count += 2;
	else if (u->trace.frames_lost <= number - ROOT_FRAMES_MAX)
		u->trace.frames_lost = number - ROOT_FRAMES_MAX + 1;
	u->trace.frame_count++;
	return 0;
}

static inline int unwind_push(struct unwind *u, u64 frame)
{
	u64 at = (u64)u->trace.kernel_count + u->trace.user_count;

	if (u->trace.frame_count >= LEAF_FRAMES_MAX)
		return unwind_push_deep(u, frame, 0);
	if (at >= LEADING_WORDS_MAX + USER_WORDS_MAX)
		return unwind_end(u, END_TRUNCATED);
	u->words[at] = frame;
	u->trace.user_count++;
	u->trace.frame_count++;
	return 0;
}

/* Takes the last frames back, down to when there were so many, in so many words. */
static inline void unwind_give_back(struct unwind *u, u32 frames, u32 words)
{
	u->trace.user_count = (u16)words;
	u->trace.frame_count = frames;
	if (frames > LEAF_FRAMES_MAX && u->trace.frames_lost > frames - LEAF_FRAMES_MAX)
		u->trace.frames_lost = frames - LEAF_FRAMES_MAX;
	else if (frames <= LEAF_FRAMES_MAX)
		u->trace.frames_lost = 0;
}

/*
 * True if a frame, by a word that tells it from others of its process, was not met lately: then its objects are worth
 * keeping. Children have theirs where their parent had them.
 */
static inline int unwind_meet(struct unwind *u, u64 frame)
{
	u64 *met;

	frame ^= u->trace.pid * 0x9e3779b97f4a7c15ull;
	met = &u->met[(frame ^ frame >> 7 ^ frame >> 20) & (MET_MAX - 1)];
	if (*met == frame)
		return 0;
	*met = frame;
	return 1;
}

static inline int unwind_push_pair(struct unwind *u, u64 first, u64 second)
{
	u64 at = (u64)u->trace.kernel_count + u->trace.user_count;

	if (u->trace.frame_count >= LEAF_FRAMES_MAX)
		return unwind_push_deep(u, first, second);
	if (at >= LEADING_WORDS_MAX + USER_WORDS_MAX - 1)
		return unwind_end(u, END_TRUNCATED);
	u->words[at] = first;
	u->words[at + 1] = second;
	u->trace.user_count += 2;
	u->trace.frame_count++;
	return 0;
}

/* A frame of a language's runtime: what it needs to name it, low in 48 bits, second in a word. */
static inline int unwind_push_runtime(struct unwind *u, u32 lang, u64 low, u64 second)
{
	return unwind_push_pair(u, (u64)FRAME_RUNTIME << FRAME_KIND_SHIFT | (u64)lang << FRAME_LANG_SHIFT |
				   (low & FRAME_LOW_MASK), second);
}

/* The same, of what stands for labels of the sample and is no frame. */
static inline int unwind_push_labels(struct unwind *u, u32 lang, u64 low, u64 second)
{
	return unwind_push_pair(u, (u64)FRAME_RUNTIME << FRAME_KIND_SHIFT | FRAME_LABELS |
				   (u64)lang << FRAME_LANG_SHIFT | (low & FRAME_LOW_MASK), second);
}

#endif
