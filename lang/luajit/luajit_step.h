/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * One step through the frames of LuaJIT. Included by the kernel half, and by
 * the test that compiles it for the host. Needs before it what bpf/native.h
 * needs.
 *
 * The interpreter is written in assembly (lj_vm), in which everything happens
 * with one shape of native frame. Each time C code calls Lua there is another
 * one: a run. It has the state whose run it is (thread of Lua, coroutine), and
 * the state has the address of that frame: so both are found, and sure, from
 * wherever in the assembly, or in a trace, which has more on the stack.
 *
 * Frames of Lua are on the stack of the state. Before the first value of each
 * there are its function, and a link: the instruction behind the call, whose
 * operand tells where the caller's frame is, or a distance with a type. The
 * outermost of a run is of type C.
 */
#ifndef LANG_LUAJIT_STEP_H
#define LANG_LUAJIT_STEP_H

#include "lang/list.h"
#include "luajit.h"
#include "native.h"

#define LUAJIT_FRAMES_STEP 8	/* looked at in one step */
#define LUAJIT_FRAMES_MAX (2 * WALK_FRAMES_MAX)	/* ... in a walk: some are not shown */
#define LUAJIT_SCAN_WORDS 96	/* above the stack pointer, where the native frame of a run may begin */
#define LUAJIT_STACK_SPARE 64	/* bytes behind the limit of a stack that errors may use */

/* The native frame of a run (lj_frame.h: CFRAME_OFS_...), and the registers of the interpreter. */
#if REG_RA == 30
#define LUAJIT_NATIVE_STATE 16
#define LUAJIT_NATIVE_PC 8
#define LUAJIT_NATIVE_RESULTS 40
#define LUAJIT_NATIVE_BEFORE 0
#define LUAJIT_NATIVE_BYTES 208
#define LUAJIT_NATIVE_FP 192
#define LUAJIT_NATIVE_RETURN 200
#define LUAJIT_REG_BASE 19
#define LUAJIT_REG_PC 21
#else
#define LUAJIT_NATIVE_STATE 16
#define LUAJIT_NATIVE_PC 24
#define LUAJIT_NATIVE_RESULTS 8
#define LUAJIT_NATIVE_BEFORE 32
#define LUAJIT_NATIVE_BYTES 80
#define LUAJIT_NATIVE_BX 56
#define LUAJIT_NATIVE_FP 64
#define LUAJIT_NATIVE_RETURN 72
#define LUAJIT_REG_BASE 1	/* rdx */
#define LUAJIT_REG_PC 3		/* rbx */
#endif

enum luajit_link { LINK_LUA, LINK_C, LINK_CONT, LINK_VARG, LINK_LUA_2, LINK_CP };
#define LUAJIT_DISTANCE_MAX (1u << 24)	/* in bytes: a stack has 65500 values at most */
#define LUAJIT_CONT_CALLBACK 1	/* a continuation: C code has called a function by FFI */

/* Is this the link of a run's outermost frame? */
static inline int luajit_is_last(u64 link)
{
	return (link & 7) == LINK_C || (link & 7) == LINK_CP;
}

/* A frame of Lua, as it was read. */
struct luajit_frame {
	u64 base, link;
	u64 code;		/* its first instruction; 0: it is written in C, then `id` says what it is */
	u64 bytes;		/* ... of all */
	u64 pc;			/* the instruction that it is at */
	u64 id;
};

/* struct unwind's state[] */
struct luajit_walk {
	u64 is_inside;		/* `frame` is one of this run */
	u64 looked;		/* frames so far */
	u64 native;		/* the native frame of the run */
	u64 index;		/* of its state in slot->states */
	u64 trace, place;	/* the innermost is in a trace: it, and how far in its code */
	struct luajit_frame frame;
};
_Static_assert(sizeof(struct luajit_walk) <= STATE_WORDS * sizeof(u64), "fits the state");
_Static_assert(sizeof(struct luajit_slot) <= SLOT_WORDS * sizeof(u64), "fits the slot");

static inline int luajit_broken(struct unwind *u)
{
	unwind_end(u, END_RUNTIME);
	return STEP_END;
}

/* Where a state is kept, or is to be. */
static inline u64 luajit_state_index(struct luajit_slot *slot, u64 state)
{
	LOOP_NO_UNROLL
	for (u64 i = 0; i < LUAJIT_STATES; i++)
		if (slot->states[i].state == state || !slot->states[i].state)
			return i;
	return LUAJIT_STATES - 1;
}

/* Is there the native frame of a run? Then the state is in slot->room, and its place in w->index. */
static inline int luajit_is_run(struct unwind *u, struct luajit_slot *slot, struct luajit_walk *w, u64 native)
{
	u64 state = 0, index, expected;

	if (read_user(u, &state, sizeof(state), native + LUAJIT_NATIVE_STATE) || state & 7 || state < 4096 ||
	    state >> LUAJIT_TAG_SHIFT || read_user(u, slot->room, LUAJIT_STATE_WORDS * 8, state) ||
	    (slot->room[LUAJIT_OBJECT_TYPE / 8] >> LUAJIT_OBJECT_TYPE % 8 * 8 & 0xff) != LUAJIT_TYPE_THREAD)
		return 0;
	index = luajit_state_index(slot, state) & (LUAJIT_STATES - 1);
	expected = slot->states[index].state == state ? slot->states[index].native :
							slot->room[LUAJIT_STATE_NATIVE] & ~3ull;
	if (expected != native)
		return 0;
	if (slot->states[index].state != state) {
		slot->states[index].state = state;
		slot->states[index].base = 0;
	}
	w->index = index;
	w->native = native;
	return 1;
}

#if REG_RA != 30
/*
 * A run that begins or ends: its frame is not there yet, or not any more, which the call frame information does not
 * know, but its code tells: push rbp, rbx, r15, r14; sub rsp, 40, and pop r14, r15, rbx, rbp; ret. How many words are
 * before the return address, or -1.
 */
static inline int luajit_words_pushed(struct unwind *u)
{
	u64 code;

	if (!u->is_leaf || read_code(u, &code, sizeof(code), u->regs.pc))
		return -1;
	if (code == 0x8348564157415355ull)
		return 0;
	if (code << 8 == 0x8348564157415300ull || (u16)code == 0xc35d)
		return 1;
	if (code == 0x28ec834856415741ull || code << 40 == 0xc35d5b0000000000ull)
		return 2;
	if (code << 16 == 0x28ec834856410000ull || code << 24 == 0xc35d5b5f41000000ull)
		return 3;
	return (u32)code == 0x28ec8348 || code << 8 == 0xc35d5b5f415e4100ull ? 4 : -1;
}

static inline int luajit_begins_or_ends(struct unwind *u)
{
	int words = luajit_words_pushed(u);
	u64 return_va, sp = u->regs.reg[REG_SP];

	if (words < 0 || read_user(u, &return_va, sizeof(return_va), sp + 8 * (u64)words))
		return STEP_NATIVE;
	u->cfa = sp + 8 * (u64)words + 8;
	if (words >= 1)
		u->fp_va = u->cfa - 16;
	if (words >= 2)
		u->bx_va = u->cfa - 24;
	return native_return(u, return_va) ? STEP_END : STEP_CALLER;
}
#else
static inline int luajit_begins_or_ends(struct unwind *u)
{
	return STEP_NATIVE;
}
#endif

/* Finds the run whose code this is: STEP_AGAIN, or what else to do. */
static inline int luajit_find_run(struct unwind *u, struct luajit_slot *slot, struct luajit_walk *w)
{
	u64 at = u->regs.reg[REG_SP];
	int step;

	if (luajit_is_run(u, slot, w, at))
		return STEP_AGAIN;
	step = luajit_begins_or_ends(u);
	if (step != STEP_NATIVE)
		return step;
	LOOP_NO_UNROLL
	for (u64 i = 1; i < LUAJIT_SCAN_WORDS; i++) {
		at += sizeof(u64);
		if (luajit_is_run(u, slot, w, at))
			return STEP_AGAIN;
	}
	return STEP_NATIVE;
}

/* The instructions of a function: its place in slot->seen, or -1. What recurses is read once. */
static inline long luajit_function(struct unwind *u, struct luajit_slot *slot, u64 va)
{
	u64 at = (va >> 3 ^ va >> 6) & (LUAJIT_SEEN - 1), head[LUAJIT_FUNCTION_WORDS], id;
	u32 count = 0;

	if (slot->seen[at].function == va)
		return (long)at;
	if (va & 7 || va < 4096 || read_user(u, head, sizeof(head), va) ||
	    (head[LUAJIT_OBJECT_TYPE / 8] >> LUAJIT_OBJECT_TYPE % 8 * 8 & 0xff) != LUAJIT_TYPE_FUNCTION)
		return -1;
	id = head[LUAJIT_FUNCTION_ID / 8] >> LUAJIT_FUNCTION_ID % 8 * 8 & 0xff;
	if (!id && read_user(u, &count, sizeof(count),
			     head[LUAJIT_FUNCTION_CODE / 8] - LUAJIT_PROTO_BYTES + LUAJIT_PROTO_COUNT))
		return -1;
	slot->seen[at].function = va;
	slot->seen[at].code = id ? 0 : head[LUAJIT_FUNCTION_CODE / 8] & LUAJIT_ADDRESS_MASK;
	slot->seen[at].bytes = id ? id : 4 * (u64)count;
	return (long)at;
}

/*
 * Reads the frame with that base, of a function that is at the instruction before pc: 0, or less if there is none. 1 if
 * pc is none of that function's: it has just been called, or is about to return.
 */
static inline int luajit_read_frame(struct unwind *u, struct luajit_slot *slot, u64 base, u64 pc,
				    struct luajit_frame *ret_frame)
{
	u64 words[2], tag;
	long at;

	if (base & 7 || read_user(u, words, sizeof(words), base - sizeof(words)))
		return -1;
	tag = words[0] >> LUAJIT_TAG_SHIFT;
	if (tag != LUAJIT_TAG_FUNCTION && tag != LUAJIT_TAG_THREAD)
		return -1;
	ret_frame->base = base;
	ret_frame->link = words[1];
	ret_frame->code = 0;
	ret_frame->bytes = 0;
	ret_frame->pc = 0;
	ret_frame->id = 0;
	if (tag == LUAJIT_TAG_THREAD)
		return 0;
	at = luajit_function(u, slot, words[0] & LUAJIT_ADDRESS_MASK);
	if (at < 0)
		return -1;
	at &= LUAJIT_SEEN - 1;
	if (!slot->seen[at].code) {
		ret_frame->id = slot->seen[at].bytes;
		return 0;
	}
	ret_frame->code = slot->seen[at].code;
	ret_frame->bytes = slot->seen[at].bytes;
	ret_frame->pc = ret_frame->code;
	if (pc - ret_frame->code > ret_frame->bytes || pc & 3)
		return 1;
	if (pc != ret_frame->code)
		ret_frame->pc = pc - 4;
	return 0;
}

/* The base that the operand of a call says, by what is behind the call. */
static inline u64 luajit_caller_base(struct unwind *u, u64 base, u64 link)
{
	u32 call;

	if (read_user(u, &call, sizeof(call), link - sizeof(call)))
		return 0;
	return base - 8 * (2 + (u64)(call >> 8 & 0xff));
}

/*
 * The innermost frame, by what may be its base. While a function is being called or returns, the instruction is its
 * caller's, and the function may not be there any more, nor may be its link yet.
 */
static inline int luajit_try_base(struct unwind *u, struct luajit_slot *slot, struct luajit_walk *w, u64 base, u64 pc)
{
	u64 caller;
	int r;

	if (base < slot->room[LUAJIT_STATE_STACK] + 16 ||
	    base > slot->room[LUAJIT_STATE_LIMIT] + LUAJIT_STACK_SPARE)
		return -1;
	r = luajit_read_frame(u, slot, base, pc, &w->frame);
	/* The link of a run's first frame, which is not there yet: what is there is another run's. */
	if (luajit_is_last(pc) && pc < LUAJIT_DISTANCE_MAX && w->frame.link != pc)
		return -1;
	/* What is there is a value, and the link not stored yet. */
	if (!r && w->frame.code && w->frame.link >> LUAJIT_TAG_SHIFT)
		r = -1;
	if (!r || (r > 0 && w->frame.link == pc))
		return 0;
	if (pc & 3 || pc < 4096 || pc >> LUAJIT_TAG_SHIFT)
		return r > 0 ? 0 : -1;
	caller = luajit_caller_base(u, base, pc);
	return caller && !luajit_read_frame(u, slot, caller, pc, &w->frame) && w->frame.code ? 0 : -1;
}

/* The trace that runs, and how far it is; none if that cannot be said. */
static inline void luajit_find_trace(struct unwind *u, const struct luajit_slot *slot, struct luajit_walk *w,
				     u64 global)
{
	u64 traces = 0, trace = 0, machine = 0, place;
	u32 number = 0;

	if (!slot->traces || read_user(u, &number, sizeof(number), global + slot->number) || number >> 16 ||
	    read_user(u, &traces, sizeof(traces), global + slot->traces) ||
	    read_user(u, &trace, sizeof(trace), traces + 8 * (u64)number) || trace & 7 || trace >> LUAJIT_TAG_SHIFT ||
	    read_user(u, &machine, sizeof(machine), trace + LUAJIT_TRACE_MACHINE))
		return;
	place = u->regs.pc - u->is_return - machine;
	w->trace = trace;
	w->place = place < LUAJIT_PLACE_MASK ? place : LUAJIT_PLACE_MASK;
}

/* The innermost frame of a state, of the run that was found: 0, or less if there is none. */
static inline int luajit_innermost(struct unwind *u, struct luajit_slot *slot, struct luajit_walk *w)
{
	u64 global = slot->room[LUAJIT_STATE_GLOBAL], state_base = slot->room[LUAJIT_STATE_BASE], base = 0, pc = 0;

	/* A trace runs: it may be of another state, which this one has resumed. */
	if (slot->running && !read_user(u, &base, sizeof(base), global + slot->running) && base &&
	    !luajit_try_base(u, slot, w, base, 0)) {
		luajit_find_trace(u, slot, w, global);
		return 0;
	}
	if (u->is_leaf) {
		pc = u->regs.reg[LUAJIT_REG_PC];
		if (!luajit_try_base(u, slot, w, u->regs.reg[LUAJIT_REG_BASE], pc))
			return 0;
	} else if (REG_RA == 30 ? read_user(u, &pc, sizeof(pc), w->native + LUAJIT_NATIVE_PC) :
				  native_register(u, REG_BX, &pc)) {
		return -1;
	}
	/* What is called that needs no state: the base is kept in rbp. */
	if (REG_RA != 30 && !native_fp(u) && !luajit_try_base(u, slot, w, u->regs.reg[REG_FP], pc))
		return 0;
	if (!luajit_try_base(u, slot, w, state_base, pc))
		return 0;
	/* What has left a trace has lost the instruction. */
	return u->is_leaf ? -1 : luajit_read_frame(u, slot, state_base, 0, &w->frame);
}

/* Ends the run: the next of this state begins with `base`. */
static inline int luajit_leave(struct unwind *u, struct luajit_slot *slot, struct luajit_walk *w, u64 base)
{
	u64 index = w->index & (LUAJIT_STATES - 1), before = 0, return_va;

	w->is_inside = 0;
	if (read_user(u, &before, sizeof(before), w->native + LUAJIT_NATIVE_BEFORE) ||
	    read_user(u, &return_va, sizeof(return_va), w->native + LUAJIT_NATIVE_RETURN)) {
		unwind_end(u, END_UNREADABLE);
		return STEP_END;
	}
	slot->states[index].native = before & ~3ull;
	slot->states[index].base = base;
	u->sp_lost = 0;
	u->cfa = w->native + LUAJIT_NATIVE_BYTES;
	u->fp_va = w->native + LUAJIT_NATIVE_FP;
#if REG_RA != 30
	u->bx_va = w->native + LUAJIT_NATIVE_BX;
#endif
	return native_return(u, return_va) ? STEP_END : STEP_CALLER;
}

/* Begins a run: STEP_AGAIN if there are frames for it. */
static inline int luajit_begin(struct unwind *u, struct luajit_slot *slot, struct luajit_walk *w)
{
	int step = luajit_find_run(u, slot, w), r;
	u64 index, base, pc = 0;
	s32 results = 0;

	if (step != STEP_AGAIN)
		return step;
	index = w->index & (LUAJIT_STATES - 1);
	base = slot->states[index].base;
	w->trace = 0;
	if (read_user(u, &results, sizeof(results), w->native + LUAJIT_NATIVE_RESULTS))
		return luajit_broken(u);
	/* It has called C code, and no function. */
	if (results < 0)
		return luajit_leave(u, slot, w, base);
	if (base) {
		(void)read_user(u, &pc, sizeof(pc), w->native + LUAJIT_NATIVE_PC);
		r = luajit_read_frame(u, slot, base, pc, &w->frame);
	} else {
		r = luajit_innermost(u, slot, w);
	}
	if (r < 0)
		return luajit_leave(u, slot, w, base);
	w->is_inside = 1;
	return STEP_AGAIN;
}

/* Pushes a frame: 0, or less if there is no room. One of a function in C shows if the call says what it is called. */
static inline int luajit_push(struct unwind *u, struct luajit_walk *w, u64 caller_pc)
{
	u64 trace = w->trace;

	w->trace = 0;
	if (w->frame.code && trace)
		return unwind_push_runtime(u, LANG_LUAJIT, LUAJIT_TRACE | caller_pc >> 2,
					   trace >> 3 << LUAJIT_PLACE_BITS | w->place);
	if (w->frame.code)
		return unwind_push_runtime(u, LANG_LUAJIT, w->frame.pc >> 2, caller_pc);
	if (!caller_pc || !w->frame.id)
		return 0;
	return unwind_push_runtime(u, LANG_LUAJIT, LUAJIT_NATIVE | w->frame.id, caller_pc);
}

/* Where the caller's frame is, and the address behind its instruction: of the types of links that have one. */
static inline u64 luajit_caller(struct unwind *u, struct luajit_frame *frame, u64 *ret_pc, u64 *ret_is_last)
{
	u64 link = frame->link, type = link & 7, words[2];

	*ret_pc = 0;
	*ret_is_last = luajit_is_last(link);
	if (type == LINK_LUA || type == LINK_LUA_2) {
		*ret_pc = link;
		return link < 4096 || link >> LUAJIT_TAG_SHIFT ? 0 : luajit_caller_base(u, frame->base, link);
	}
	if (type == LINK_CONT) {
		if (read_user(u, words, sizeof(words), frame->base - 32))
			return 0;
		*ret_pc = words[1];
		*ret_is_last = words[0] == LUAJIT_CONT_CALLBACK;
	}
	return frame->base - (link & ~7ull);
}

/* One frame of the run: pushed, and on to that of its caller. STEP_AGAIN if there may be more. */
static inline int luajit_frame(struct unwind *u, struct luajit_slot *slot, struct luajit_walk *w)
{
	u64 base, pc = 0, is_last = 0;
	struct luajit_frame caller;
	int r;

	if (w->looked++ >= LUAJIT_FRAMES_MAX)
		return luajit_broken(u);
	/* Its own values are above those that were passed, and more than it has names for. */
	if ((w->frame.link & 7) == LINK_VARG) {
		w->frame.base -= w->frame.link & ~7ull;
		return read_user(u, &w->frame.link, sizeof(u64), w->frame.base - 8) ? luajit_broken(u) : STEP_AGAIN;
	}
	base = luajit_caller(u, &w->frame, &pc, &is_last);
	if (!base || base >= w->frame.base)
		return luajit_broken(u);
	if (is_last)
		return luajit_push(u, w, 0) ? STEP_END : luajit_leave(u, slot, w, base);
	r = luajit_read_frame(u, slot, base, pc, &caller);
	if (r < 0)
		return luajit_broken(u);
	if (luajit_push(u, w, caller.code && !r ? caller.pc : 0))
		return STEP_END;
	w->frame = caller;
	return STEP_AGAIN;
}

/* See lang/README.md: what to do with a run of the interpreter, or with a trace. */
static inline int runtime_step(struct unwind *u, const struct unwind_rule *rule)
{
	struct luajit_slot *slot = (void *)u->slot;
	struct luajit_walk *w = (void *)u->state;
	int step;

	if (!w->is_inside) {
		step = luajit_begin(u, slot, w);
		if (step != STEP_AGAIN)
			return step;
	}
	LOOP_NO_UNROLL
	for (u64 i = 0; i < LUAJIT_FRAMES_STEP; i++) {
		step = luajit_frame(u, slot, w);
		if (step != STEP_AGAIN)
			return step;
	}
	return STEP_AGAIN;
}

#endif
