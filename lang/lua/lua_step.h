/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * One step through the frames of Lua. Included by the kernel half, and by the
 * test that compiles it for the host. Needs before it what bpf/native.h needs.
 *
 * luaV_execute() runs functions that call each other; where C code lies between
 * two of them there is another run of it. The outermost call of each run is
 * flagged. Functions written in C have calls, too, which stand before those of
 * who has called them: their native code is shown inside of them.
 *
 * Nothing but code on the stack knows which state (thread of Lua, coroutine) a
 * run is of. Whoever calls luaV_execute() goes on with the state afterwards, so
 * that it has it in a register, which luaV_execute() saves: it is looked for
 * among the words of that frame. There may be those of older frames, too: of
 * several states that run, the one that was resumed last is in most calls.
 */
#ifndef LANG_LUA_STEP_H
#define LANG_LUA_STEP_H

#include "lang/list.h"
#include "lua.h"
#include "native.h"

#define LUA_FRAMES_STEP 8	/* looked at in one step */
#define LUA_FRAMES_MAX (2 * WALK_FRAMES_MAX)	/* ... in a walk: some are not shown */
#define LUA_STACK_WORDS 40	/* of the loop's frame */
#define LUA_NEAR 4096		/* what is so close above a frame is on the same stack */
/* Registers that functions keep: rbx, rbp, r12 to r15; x19 to x28. */
#define LUA_KEPT_FIRST (REG_RA == 30 ? 16 : 0)
#define LUA_KEPT_MASK (REG_RA == 30 ? 0x1ff8u : 0xf048u)

/* A call of a function, as it was read. */
struct lua_call {
	u64 va, previous;
	u64 proto;		/* 0: it is written in C */
	u64 pc;			/* of its instruction, the number */
	u64 status;
};

/* struct unwind's state[] */
struct lua_walk {
	u64 is_inside;		/* `call` is one of this run */
	u64 looked;		/* calls so far */
	u64 state;		/* whose run it is; its place in slot->states: */
	u64 index;
	struct lua_call call, before;
};
_Static_assert(sizeof(struct lua_walk) <= STATE_WORDS * sizeof(u64), "fits the state");
_Static_assert(sizeof(struct lua_slot) <= SLOT_WORDS * sizeof(u64), "fits the slot");

static inline int lua_broken(struct unwind *u)
{
	unwind_end(u, END_RUNTIME);
	return STEP_END;
}

/* Where the frame of the loop ends, by its rule; 0 if that is not known. */
static inline u64 lua_frame_end(struct unwind *u, const struct unwind_rule *rule)
{
	if (!rule || rule->kind != RULE_CFA)
		return 0;
	if (rule->cfa_reg == REG_SP)
		return u->regs.reg[REG_SP] + (s64)rule->cfa_off;
	if (rule->cfa_reg != REG_FP || native_fp(u))
		return 0;
	return u->regs.reg[REG_FP] + (s64)rule->cfa_off;
}

/* How many calls of C code a state is in, plus one; 0 if the word is no state that runs. */
static inline u64 lua_depth(struct unwind *u, struct lua_slot *slot, u64 va, u64 sp)
{
	u64 call, previous = 0;
	u16 depth = 0;

	if (va & 7 || va < 4096 || va >> 47 || va - sp < LUA_NEAR ||
	    read_user(u, slot->room, LUA_STATE_READ, va) ||
	    (slot->room[LUA_STATE_TYPE / 8] & 0xff) != LUA_TYPE_THREAD ||
	    slot->room[LUA_STATE_TYPE / 8] >> (slot->status_shift & 63) & 0xff)
		return 0;
	call = slot->room[LUA_STATE_CALL / 8];
	/* The first call of a state is of no function: one that has no other does not run. */
	if (call & 7 || read_user(u, &previous, sizeof(previous), call + 8 * LUA_CALL_PREVIOUS) || !previous ||
	    read_user(u, &previous, sizeof(previous), previous + 8 * LUA_CALL_NEXT) || previous != call ||
	    read_user(u, &depth, sizeof(depth), va + slot->depth))
		return 0;
	return (u64)depth + 1;
}

/* The state whose run has its frame here, or 0. */
static inline u64 lua_find_state(struct unwind *u, struct lua_slot *slot, u64 end_va)
{
	u64 sp = u->regs.reg[REG_SP], at = end_va, best = 0, found = 0, word, depth;

	LOOP_NO_UNROLL
	for (u64 i = 0; i < LUA_STACK_WORDS; i++) {
		at -= sizeof(word);
		if (at < sp || read_user(u, &word, sizeof(word), at))
			break;
		if (word == found)
			continue;
		depth = lua_depth(u, slot, word, sp);
		if (depth > best) {
			best = depth;
			found = word;
		}
	}
	return found;
}

/* The function of a closure, and its instructions: 0, or less. What recurses is read once. */
static inline int lua_function(struct unwind *u, struct lua_slot *slot, u64 closure, u64 *ret_index)
{
	u64 at = (closure >> 4 ^ closure >> 7) & (LUA_SEEN - 1), proto = 0, code = 0;
	u32 count = 0;

	if (slot->seen[at].closure != closure) {
		if (read_user(u, &proto, sizeof(proto), closure + LUA_CLOSURE_PROTO) ||
		    read_user(u, &code, sizeof(code), proto + slot->code) ||
		    read_user(u, &count, sizeof(count), proto + slot->code_count))
			return -1;
		slot->seen[at].closure = closure;
		slot->seen[at].proto = proto;
		slot->seen[at].code = code;
		slot->seen[at].bytes = 4 * (u64)count;
	}
	*ret_index = at;
	return 0;
}

/* The next instruction, by what the loop has in a register: one that is no address of the code has none. */
static inline u64 lua_register(struct unwind *u, u64 code, u64 bytes, u64 pc)
{
	LOOP_NO_UNROLL
	for (u64 i = 0; i < 16; i++) {
		u64 word = u->regs.reg[LUA_KEPT_FIRST + i];

		if (LUA_KEPT_MASK >> i & 1 && !(word & 3) && word - code - 4 < bytes)
			return word;
	}
	return pc;
}

/* Reads a call: 0, or less if it is none. */
static inline int lua_read_call(struct unwind *u, struct lua_slot *slot, u64 va, u64 is_innermost,
				struct lua_call *ret_call)
{
	u64 value[LUA_VALUE_WORDS], pc, index = 0, tag;

	if (va & 7 || read_user(u, slot->room, LUA_CALL_WORDS * 8, va) ||
	    read_user(u, value, sizeof(value), slot->room[LUA_CALL_FUNCTION]))
		return -1;
	pc = slot->room[slot->call_pc & (LUA_ROOM_WORDS - 1)];
	tag = value[1] & LUA_TAG_MASK;
	ret_call->va = va;
	ret_call->previous = slot->room[LUA_CALL_PREVIOUS];
	ret_call->status = slot->room[slot->call_status & (LUA_ROOM_WORDS - 1)] >> (slot->call_status_shift & 63) &
			   0xffff;
	ret_call->proto = 0;
	ret_call->pc = LUA_PC_NONE;
	/* The first call of a state is of no function. */
	if (tag == LUA_TAG_C_FUNCTION || tag == LUA_TAG_C_CLOSURE || !ret_call->previous)
		return 0;
	if (tag != LUA_TAG_CLOSURE || lua_function(u, slot, value[0], &index))
		return -1;
	index &= LUA_SEEN - 1;
	if (is_innermost && slot->keeps_pc && u->is_leaf)
		pc = lua_register(u, slot->seen[index].code, slot->seen[index].bytes, pc);
	ret_call->proto = slot->seen[index].proto;
	pc -= slot->seen[index].code;
	if (pc <= slot->seen[index].bytes)
		ret_call->pc = pc ? pc / 4 - 1 : 0;
	return 0;
}

/* Where a state is kept, or is to be. */
static inline u64 lua_state_index(struct lua_slot *slot, u64 state)
{
	LOOP_NO_UNROLL
	for (u64 i = 0; i < LUA_STATES; i++)
		if (slot->states[i].state == state || !slot->states[i].state)
			return i;
	return LUA_STATES - 1;
}

/* Begins a run: STEP_AGAIN if there are calls for it. */
static inline int lua_begin(struct unwind *u, struct lua_slot *slot, struct lua_walk *w,
			    const struct unwind_rule *rule)
{
	u64 end_va = lua_frame_end(u, rule), call = 0, is_innermost = 0;

	w->state = end_va ? lua_find_state(u, slot, end_va) : 0;
	if (!w->state)
		return STEP_NATIVE;
	w->index = lua_state_index(slot, w->state) & (LUA_STATES - 1);
	if (slot->states[w->index].state == w->state) {
		call = slot->states[w->index].call;
	} else {
		is_innermost = 1;
		if (read_user(u, &call, sizeof(call), w->state + LUA_STATE_CALL))
			return STEP_NATIVE;
	}
	if (!call)
		return STEP_NATIVE;
	/* A call that is being made may be of no function yet. */
	if (lua_read_call(u, slot, call, is_innermost, &w->call) &&
	    (!is_innermost || read_user(u, &call, sizeof(call), call + 8 * LUA_CALL_PREVIOUS) ||
	     lua_read_call(u, slot, call, 0, &w->call)))
		return lua_broken(u);
	/* The loop itself runs no function in C: its last call has ended. */
	if (is_innermost && u->is_leaf && !w->call.proto)
		return STEP_NATIVE;
	w->is_inside = 1;
	return STEP_AGAIN;
}

static inline int lua_leave(struct lua_slot *slot, struct lua_walk *w, u64 next)
{
	slot->states[w->index & (LUA_STATES - 1)].state = w->state;
	slot->states[w->index & (LUA_STATES - 1)].call = next;
	w->is_inside = 0;
	return STEP_UNWIND;
}

/* Pushes a call: 0, or less if there is no room. One of a function in C shows if the call says what it is called. */
static inline int lua_push(struct unwind *u, const struct lua_slot *slot, const struct lua_walk *w)
{
	u64 caller = w->call.status & slot->tail || w->before.proto & 15 ? 0 : w->before.proto, places;

	if (!w->call.proto && !caller)
		return 0;
	places = lua_places(w->call.pc, w->before.pc);
	return unwind_push_runtime(u, LANG_LUA, lua_first_word(w->call.proto, places), lua_second_word(caller, places));
}

/* One call of the run: pushed, and on to that before it. STEP_AGAIN if there may be more. */
static inline int lua_frame(struct unwind *u, struct lua_slot *slot, struct lua_walk *w)
{
	u64 was_last;

	if (!w->call.previous)
		return lua_leave(slot, w, 0);
	if (w->looked++ >= LUA_FRAMES_MAX || lua_read_call(u, slot, w->call.previous, 0, &w->before))
		return lua_broken(u);
	if (lua_push(u, slot, w))
		return STEP_END;
	was_last = w->call.proto && w->call.status & slot->fresh;
	w->call = w->before;
	return was_last ? lua_leave(slot, w, w->call.va) : STEP_AGAIN;
}

/* See lang/README.md: what to do with a run of the loop. */
static inline int runtime_step(struct unwind *u, const struct unwind_rule *rule)
{
	struct lua_slot *slot = (void *)u->slot;
	struct lua_walk *w = (void *)u->state;
	int step;

	if (!w->is_inside) {
		step = lua_begin(u, slot, w, rule);
		if (step != STEP_AGAIN)
			return step;
	}
	LOOP_NO_UNROLL
	for (u64 i = 0; i < LUA_FRAMES_STEP; i++) {
		step = lua_frame(u, slot, w);
		if (step != STEP_AGAIN)
			return step;
	}
	return STEP_AGAIN;
}

#endif
