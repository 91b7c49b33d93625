/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * One step through the frames of Erlang. Included by the kernel half, and by the test that compiles it for the host.
 * Needs before it what bpf/native.h needs, and
 *
 *	u64 walk_thread_pointer(void);
 *
 * A frame on the stack of an Erlang process is its values, each a tagged term, then the address that it returns to,
 * which no tag is on: return addresses are aligned so that their lowest two bits are 0, which no term on the stack has.
 * That is how the runtime itself finds them. The walk comes here
 *
 *	from generated code: rsp is the stack of the process, or that of the thread, shortly before and after C code
 *	runs;
 *	from C code that was called by generated code: on the thread's stack. That of the process is in rbp, or in the
 *	process's structure, as the code tells that goes back there.
 *
 * Below its first function there is the scheduler's loop, which has called none of them: it has left its own frame on
 * the thread's stack, above its registers, and jumped.
 */
#ifndef LANG_BEAM_STEP_H
#define LANG_BEAM_STEP_H

#include "beam.h"
#include "lang/list.h"
#include "native.h"

#define BEAM_WINDOW 8		/* words that are read at once, a power of two */
#define BEAM_WINDOWS 8		/* ... in one step */
#define BEAM_FRAME_BYTES 8448	/* a frame has at most 1024 values */
#define BEAM_REG_BX 3
#define BEAM_REG_PROCESS 13
#define BEAM_TAG_MASK 3
#define BEAM_PID_TAG 3		/* of the first word of a process, in its lowest four bits */
#define BEAM_PID_SHIFT 4
#define BEAM_REGISTERS_ALIGN 64
#define BEAM_SAVED_WORDS 64	/* of C code's frames, from where generated code has called it on */
#define BEAM_HEAP_BYTES_MAX (1ull << 40)	/* of a process, what is free in it */

#define BEAM_LEAVE_BY_RBP 0xec8948u	/* mov rsp, rbp */
#define BEAM_LEAVE_BY_STOP 0x658b49u	/* mov rsp, [r13 + byte] */

enum beam_phase {
	BEAM_START,
	BEAM_FRAMES,		/* on the stack of a process */
	BEAM_SEARCHING,		/* ... whose next return address is further up than one step looks */
	BEAM_DONE,
};

/* struct unwind's state[] */
struct beam_state {
	u64 phase;			/* enum beam_phase */
	u64 at;				/* of the stack of the process: the next word; 0: no process runs */
	u64 registers;			/* of the scheduler, on the thread's stack */
	u64 process;			/* where the stack was found by it */
	u64 words[BEAM_WINDOW];		/* what was read last */
};
_Static_assert(sizeof(struct beam_state) <= STATE_WORDS * sizeof(u64), "fits the state");
_Static_assert(sizeof(struct beam_slot) <= SLOT_WORDS * sizeof(u64), "fits the slot");

static inline int beam_broken(struct unwind *u)
{
	unwind_end(u, END_RUNTIME);
	return STEP_END;
}

static inline int beam_is_in(u64 va, u64 start_va, u64 end_va)
{
	return va >= start_va && va < end_va;
}

/* The process that runs on this thread, or 0. */
static inline u64 beam_process(struct unwind *u, const struct beam_slot *slot, const struct beam_state *st)
{
	u64 at = walk_thread_pointer() + slot->scheduler, scheduler = 0, registers = 0, process = 0;

	if (u->is_leaf)
		return u->regs.reg[BEAM_REG_PROCESS];
	if (slot->has_block) {
		if (read_user(u, &at, sizeof(at), at))
			return 0;
		at += slot->scheduler_in_block;
	}
	if (read_user(u, &scheduler, sizeof(scheduler), at) ||
	    read_user(u, &registers, sizeof(registers), scheduler + 8 * BEAM_SCHEDULER_REGISTERS) ||
	    registers != st->registers ||
	    read_user(u, &process, sizeof(process), scheduler + 8 * BEAM_SCHEDULER_PROCESS))
		return 0;
	return process;
}

/* Does the code from here on go back to the process's stack by rbp? Else by what its structure says. */
static inline int beam_leaves_by_rbp(struct unwind *u, const struct beam_slot *slot, struct beam_state *st)
{
	/* Compilers would keep bytes from round to round, and enter the loop in its middle, which v5.10 refuses. */
	const volatile u8 *code = (const u8 *)st->words;
	u32 four = 0;

	if (read_code(u, st->words, sizeof(st->words), u->regs.pc))
		return 0;
	LOOP_NO_UNROLL
	for (u64 i = 0; i < sizeof(st->words); i++) {
		four = four >> 8 | (u32)code[i] << 24;
		if (four >> 8 == BEAM_LEAVE_BY_RBP)
			return 1;
		if (four == (BEAM_LEAVE_BY_STOP | (u32)slot->stop << 24))
			return 0;
	}
	return 0;
}

/* The top of the stack of a process, if it may be one: its heap ends before. */
static inline u64 beam_stop(struct unwind *u, const struct beam_slot *slot, u64 process)
{
	u64 words[2];

	if (!process || process & 7 || read_user(u, words, sizeof(words), process + slot->stop - 8) ||
	    words[1] & 7 || words[1] - words[0] >= BEAM_HEAP_BYTES_MAX)
		return 0;
	return words[1];
}

/*
 * While C code runs a match specification, the scheduler has another process, of its own making, for the one that runs
 * (erl_db_util.c: db_prog_match()). Generated code has the real one in a register that C code saves: the first word
 * that may be one, from where that was called on.
 */
static inline u64 beam_saved_process(struct unwind *u, const struct beam_slot *slot, struct beam_state *st)
{
	u64 at = st->registers - 8, word, id;

	LOOP_NO_UNROLL
	for (u64 i = 0; i < BEAM_SAVED_WORDS; i++) {
		at -= sizeof(word);
		if (read_user(u, &word, sizeof(word), at))
			return 0;
		if (word & 7 || word - st->registers < BEAM_FRAME_BYTES || read_user(u, &id, sizeof(id), word) ||
		    (id & 15) != BEAM_PID_TAG)
			continue;
		st->at = beam_stop(u, slot, word);
		if (st->at)
			return word;
	}
	return 0;
}

/* Finds the stack of the process, from the thread's: 0, or -1 if that cannot be. */
static inline int beam_find_stack(struct unwind *u, const struct beam_slot *slot, struct beam_state *st)
{
	if (beam_is_in(u->regs.pc, slot->loop_va, slot->loop_end_va))
		return 0;
	if (!slot->has_frame_pointers && beam_leaves_by_rbp(u, slot, st)) {
		if (native_fp(u))
			return -1;
		st->at = u->regs.reg[REG_FP];
		return st->at ? 0 : -1;
	}
	st->process = beam_process(u, slot, st);
	if (!st->process)
		return -1;
	if (!read_user(u, &st->at, sizeof(st->at), st->process + slot->stop) && st->at)
		return 0;
	st->process = u->is_leaf ? 0 : beam_saved_process(u, slot, st);
	return st->process ? 0 : -1;
}

/* What stands for the process as a label of the sample. */
static inline int beam_push_pid(struct unwind *u, const struct beam_slot *slot, const struct beam_state *st)
{
	u64 process = 0, id = 0;

	if (slot->wants_pids && st->at)
		process = st->process ? st->process : beam_process(u, slot, st);
	if (!process || read_user(u, &id, sizeof(id), process) || (id & 15) != BEAM_PID_TAG)
		return 0;
	return unwind_push_labels(u, LANG_BEAM, id >> BEAM_PID_SHIFT, 0);
}

static inline int beam_start(struct unwind *u, const struct beam_slot *slot, struct beam_state *st)
{
	u64 sp = u->regs.reg[REG_SP];

	st->phase = BEAM_FRAMES;
	st->registers = u->is_leaf ? u->regs.reg[BEAM_REG_BX] - slot->registers : sp;
	if (st->registers % BEAM_REGISTERS_ALIGN)
		return -1;
	st->at = sp == st->registers ? 0 : sp;
	if (!st->at && beam_find_stack(u, slot, st))
		return -1;
	return st->at & 7 ? -1 : 0;
}

/* No return address, but what a frame keeps of its caller's, where they have frame pointers. */
static inline int beam_is_frame_pointer(const struct beam_slot *slot, u64 word, u64 va)
{
	return slot->has_frame_pointers && word - va < BEAM_FRAME_BYTES;
}

/* A fragment may have been called by code that did not align the address: then it is the first word. */
static inline int beam_was_called(struct unwind *u, const struct beam_slot *slot, const struct beam_state *st,
				  u64 *ret_return_va)
{
	return beam_is_in(u->regs.pc, slot->global_va, slot->global_end_va) &&
	       !read_user(u, ret_return_va, sizeof(*ret_return_va), st->at) && *ret_return_va & BEAM_TAG_MASK &&
	       native_may_return_to(u, *ret_return_va);
}

/* The next return address on the stack of the process; 0 if there is none in this step, -1 if none can be read. */
static inline int beam_find_return(struct unwind *u, const struct beam_slot *slot, struct beam_state *st,
				   u64 *ret_return_va)
{
	LOOP_NO_UNROLL
	for (u64 i = 0; i < BEAM_WINDOWS; i++) {
		u64 count = BEAM_WINDOW;

		if (read_user(u, st->words, sizeof(st->words), st->at)) {
			count = 1;
			if (read_user(u, st->words, sizeof(st->words[0]), st->at))
				return -1;
		}
		LOOP_NO_UNROLL
		for (u64 j = 0; j < BEAM_WINDOW && j < count; j++) {
			u64 word = st->words[j & (BEAM_WINDOW - 1)];

			st->at += sizeof(word);
			if (!word || word & BEAM_TAG_MASK || beam_is_frame_pointer(slot, word, st->at))
				continue;
			*ret_return_va = word;
			return 1;
		}
	}
	return 0;
}

static inline void beam_go_to(struct unwind *u, u64 return_va, u64 sp)
{
	u->regs.pc = return_va;
	u->regs.reg[REG_SP] = sp;
	u->is_leaf = 0;
	u->is_return = 1;
	u->sp_lost = 0;
}

/* The frame that the scheduler's loop has left on the thread's stack. */
static inline int beam_root(struct unwind *u, const struct beam_slot *slot, struct beam_state *st)
{
	u64 at = st->registers + slot->root, return_va = 0;

	st->phase = BEAM_DONE;
	LOOP_NO_UNROLL
	for (u64 i = 0; i < BEAM_ROOTS; i++, at += BEAM_ROOTS_APART) {
		if (read_user(u, &return_va, sizeof(return_va), at))
			break;
		if (return_va != slot->root_va)
			continue;
		beam_go_to(u, return_va, at + sizeof(return_va));
		u->regs.reg[REG_FP] = 0;
		u->fp_va = 0;
		u->bx_va = 0;
		return STEP_CALLER;
	}
	return beam_broken(u);
}

static inline int beam_caller(struct unwind *u, const struct beam_slot *slot, struct beam_state *st)
{
	u64 return_va = 0;
	int found = 1;

	if (!st->at)
		return beam_root(u, slot, st);
	if (st->phase == BEAM_FRAMES && beam_was_called(u, slot, st, &return_va))
		st->at += sizeof(return_va);
	else
		found = beam_find_return(u, slot, st, &return_va);
	st->phase = BEAM_SEARCHING;
	if (found < 0)
		return beam_broken(u);
	if (!found)
		return STEP_AGAIN;
	if (return_va == slot->normal_exit_va)
		return beam_root(u, slot, st);
	st->phase = BEAM_FRAMES;
	beam_go_to(u, return_va, st->at);
	return STEP_CALLER;
}

static inline int runtime_step(struct unwind *u, const struct unwind_rule *rule)
{
	const struct beam_slot *slot = (const void *)u->slot;
	struct beam_state *st = (void *)u->state;

	if (st->phase == BEAM_DONE)
		return beam_broken(u);
	if (st->phase != BEAM_SEARCHING &&
	    unwind_push(u, (u64)FRAME_VA << FRAME_KIND_SHIFT | ((u->regs.pc - u->is_return) & FRAME_VA_MASK)))
		return STEP_END;
	if (st->phase == BEAM_START) {
		if (beam_start(u, slot, st))
			return beam_broken(u);
		if (beam_push_pid(u, slot, st))
			return STEP_END;
	}
	return beam_caller(u, slot, st);
}

#endif
