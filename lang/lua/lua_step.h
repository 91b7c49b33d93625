/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * One step through the frames of Lua. Included by the kernel half, and by the
 * test that compiles it for the host. Needs before it what bpf/native.h needs.
 *
 * luaV_execute() runs functions that call each other; where C code lies between
 * two of them there is another run of it. The outermost call of each run is
 * flagged. In 5.1 and 5.2 none is, or too late: there a run goes on to whoever
 * is at an instruction that calls, and has the function in the register that
 * this instruction calls; others (operators, iterators, what collects garbage,
 * hooks, handlers of errors) begin another, with the function elsewhere.
 * Functions written in C have calls, too, which stand before those of who has
 * called them: their native code is shown inside of them. What has yielded and
 * is resumed goes on in one run, though other runs had called it, from 5.2 on:
 * these are gone from the native stack, and their calls belong to that one.
 *
 * Nothing but code on the stack knows which state (thread of Lua, coroutine) a
 * run is of. Whoever calls luaV_execute() goes on with the state afterwards, so
 * that it has it in a register, which luaV_execute() saves: it is looked for
 * among the words of that frame. There may be those of older frames, too: of
 * several states that run, the one that was resumed last is in most calls. In
 * 5.1 each counts its own, but catches errors: the last one in the frame that
 * is nearest.
 */
#ifndef LANG_LUA_STEP_H
#define LANG_LUA_STEP_H

#include "lang/list.h"
#include "lua.h"
#include "native.h"

#define LUA_FRAMES_STEP 8	/* looked at in one step */
#define LUA_FRAMES_MAX (2 * WALK_FRAMES_MAX)	/* ... in a walk: some are not shown */
#define LUA_STACK_WORDS 40	/* of the loop's frame */
#define LUA_JUMPS 8		/* places where errors are caught that are looked at */
#define LUA_NEAR 4096		/* what is so close above a frame is on the same stack */
/* Registers that functions keep: rbx, rbp, r12 to r15; x19 to x28. */
#define LUA_KEPT_FIRST (REG_RA == 30 ? 16 : 0)
#define LUA_KEPT_MASK (REG_RA == 30 ? 0x1ff8u : 0xf048u)
#define LUA_ANY_MASK (REG_RA == 30 ? 0x1fffu : 0xff7fu)

#define LUA_BEGINS 1		/* for an address: the innermost call, which has not come to an instruction yet */

/* A call of a function, as it was read. */
struct lua_call {
	u64 va, previous;
	u64 proto;		/* 0: it is written in C */
	u64 function;		/* where on the stack of Lua it is ... */
	u64 callee;		/* ... and what it calls, where slot->loop_call tells; 0: nothing; LUA_BEGINS */
	u32 pc;			/* of its instruction, the number */
	u32 status;
};

/* struct unwind's state[] */
struct lua_walk {
	u32 is_inside;		/* `call` is one of this run */
	u32 looked;		/* calls so far */
	u64 state;		/* whose run it is; its place in slot->states: */
	u64 index;
	u64 first;		/* of its calls, where they are an array */
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

/* Is what was read a state that neither waits nor has failed? */
static inline int lua_is_ready(const struct lua_slot *slot)
{
	u64 word = slot->room[LUA_STATE_TYPE / 8];

	return (word & 0xff) == LUA_TYPE_THREAD && !(word >> (slot->status_shift & 63) & 0xff);
}

/* As lua_depth(), of a state of 5.1. */
static inline u64 lua_51_depth(struct unwind *u, struct lua_slot *slot, u64 va)
{
	u64 call, first, room, jump = 0;

	if (read_user(u, slot->room, LUA_51_STATE_READ, va) || !lua_is_ready(slot))
		return 0;
	call = slot->room[LUA_51_STATE_CALL / 8];
	first = slot->room[LUA_51_STATE_FIRST / 8];
	room = slot->room[LUA_51_STATE_SIZE / 8] >> 32;
	if (first & 7 || call <= first || call > slot->room[LUA_51_STATE_LAST / 8] ||
	    (call - first) % LUA_51_CALL_BYTES ||
	    slot->room[LUA_51_STATE_LAST / 8] - first != (room - 1) * LUA_51_CALL_BYTES ||
	    read_user(u, &jump, sizeof(jump), va + LUA_51_STATE_JUMP))
		return 0;
	return -jump | 1;	/* the first state may catch nothing */
}

/* How many calls of C code a state is in, or what has the same order, plus one; 0 if the word is no state that runs. */
static inline u64 lua_depth(struct unwind *u, struct lua_slot *slot, u64 va, u64 sp)
{
	u64 call, previous = 0;
	u16 depth = 0;

	if (va & 7 || va < 4096 || va >> 47 || va - sp < LUA_NEAR)
		return 0;
	if (slot->is_array)
		return lua_51_depth(u, slot, va);
	if (read_user(u, slot->room, LUA_STATE_READ, va) || !lua_is_ready(slot))
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

/* The function of a closure, and its instructions: 0, 1 if it is in C, or less. What recurses is read once. */
static inline int lua_function(struct unwind *u, struct lua_slot *slot, u64 closure, u64 *ret_index)
{
	u64 at = (closure >> 4 ^ closure >> 7) & (LUA_SEEN - 1), type = 0, proto = 0, code = 0;
	u32 count = 0;

	if (slot->seen[at].closure != closure) {
		if (slot->is_array && (read_user(u, &type, sizeof(type), closure + LUA_51_CLOSURE_TYPE) ||
				       (type & 0xff) != LUA_51_TAG))
			return -1;
		if (type >> LUA_51_CLOSURE_IS_C & 0xff)
			return 1;
		if (read_user(u, &proto, sizeof(proto), closure + slot->closure_proto) ||
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

/*
 * The next instruction, by what the loop has in a register: one that is no address of the code has none. That of 5.1
 * may have the current one in a register that it keeps, and the next one in another.
 */
static inline u64 lua_register(struct unwind *u, const struct lua_slot *slot, u64 code, u64 bytes, u64 pc)
{
	u64 mask = slot->is_array ? LUA_ANY_MASK : LUA_KEPT_MASK, found = 0;

	LOOP_NO_UNROLL
	for (u64 i = 0; i < 16; i++) {
		u64 word = u->regs.reg[LUA_KEPT_FIRST + i];

		if (mask >> i & 1 && !(word & 3) && word - code - 4 < bytes && word > found)
			found = word;
	}
	return found ? found : pc;
}

/* Where the next instruction of the innermost call is, if the call itself does not know. */
static inline u64 lua_latest(struct unwind *u, const struct lua_slot *slot, u64 index, u64 state, u64 pc)
{
	u64 code = slot->seen[index].code, bytes = slot->seen[index].bytes, word = 0;

	if (slot->is_array && !read_user(u, &word, sizeof(word), state + LUA_51_STATE_PC) && word - code <= bytes)
		pc = word;
	return slot->keeps_pc && u->is_leaf ? lua_register(u, slot, code, bytes, pc) : pc;
}

/* Where the function is that the instruction before pc_va calls, by the registers there are; 0 if it calls none. */
static inline u64 lua_callee(struct unwind *u, const struct lua_slot *slot, u64 pc_va, u64 base)
{
	u32 code = 0;

	/* The next number is that of a call in the last place. */
	if (!slot->loop_call || read_user(u, &code, sizeof(code), pc_va - sizeof(code)) ||
	    (code & LUA_CODE_MASK) - slot->loop_call > 1)
		return 0;
	return base + 8 * LUA_VALUE_WORDS * (u64)LUA_CODE_A(code);
}

/* Reads a call: 0, or less if it is none. */
static inline int lua_read_call(struct unwind *u, struct lua_slot *slot, u64 va, u64 is_innermost,
				struct lua_call *ret_call)
{
	const struct lua_walk *w = (const void *)u->state;
	u64 value[LUA_VALUE_WORDS], pc, base, index = 0, tag;
	int kind;

	if (va & 7 || read_user(u, slot->room, slot->is_array ? LUA_51_CALL_BYTES : LUA_CALL_WORDS * 8, va))
		return -1;
	ret_call->function = slot->room[slot->call_function & (LUA_ROOM_WORDS - 1)];
	if (read_user(u, value, sizeof(value), ret_call->function))
		return -1;
	pc = slot->room[slot->call_pc & (LUA_ROOM_WORDS - 1)];
	base = slot->room[slot->call_base & (LUA_ROOM_WORDS - 1)];
	tag = value[1] & LUA_TAG_MASK;
	ret_call->va = va;
	ret_call->previous = !slot->is_array ? slot->room[LUA_CALL_PREVIOUS] :
			     va > w->first ? va - LUA_51_CALL_BYTES : 0;
	ret_call->status = (u32)(slot->room[slot->call_status & (LUA_ROOM_WORDS - 1)] >>
				 (slot->call_status_shift & 63));
	ret_call->proto = 0;
	ret_call->callee = 0;
	ret_call->pc = LUA_PC_NONE;
	/* The first call of a state is of no function. */
	if (tag == LUA_TAG_C_FUNCTION || tag == LUA_TAG_C_CLOSURE || !ret_call->previous)
		return 0;
	if (tag != (slot->is_array ? LUA_51_TAG : LUA_TAG_CLOSURE))
		return -1;
	kind = lua_function(u, slot, value[0], &index);
	if (kind)
		return kind < 0 ? -1 : 0;
	index &= LUA_SEEN - 1;
	if (is_innermost)
		pc = lua_latest(u, slot, index, w->state, pc);
	ret_call->proto = slot->seen[index].proto;
	ret_call->callee = is_innermost ? 0 : lua_callee(u, slot, pc, base);
	pc -= slot->seen[index].code;
	if (is_innermost && slot->loop_call && !pc && !u->is_leaf)
		ret_call->callee = LUA_BEGINS;
	if (pc <= slot->seen[index].bytes)
		ret_call->pc = pc ? (u32)(pc / 4 - 1) : 0;
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

/* The call before one that may be no call yet: 0, or less. */
static inline int lua_previous(struct unwind *u, const struct lua_slot *slot, const struct lua_walk *w, u64 call,
			       u64 *ret_previous)
{
	if (!slot->is_array)
		return read_user(u, ret_previous, sizeof(*ret_previous), call + 8 * LUA_CALL_PREVIOUS);
	*ret_previous = call - LUA_51_CALL_BYTES;
	return call > w->first ? 0 : -1;
}

/*
 * Is this the only run of a coroutine, that of who has resumed it? Then errors are caught so near that no frame of
 * another loop is between, and nowhere behind.
 */
static inline u64 lua_is_base(struct unwind *u, const struct lua_slot *slot, u64 state, u64 end_va)
{
	u64 jump = 0, previous = 0;

	if (!slot->jump || read_user(u, &jump, sizeof(jump), state + slot->jump))
		return 0;
	LOOP_NO_UNROLL
	for (u64 i = 0; i < LUA_JUMPS && jump && jump < end_va; i++)
		if (read_user(u, &jump, sizeof(jump), jump))
			return 0;
	return jump - end_va < end_va - u->regs.reg[REG_SP] && !read_user(u, &previous, sizeof(previous), jump) &&
	       !previous;
}

/* Begins a run: STEP_AGAIN if there are calls for it. */
static inline int lua_begin(struct unwind *u, struct lua_slot *slot, struct lua_walk *w,
			    const struct unwind_rule *rule)
{
	u64 end_va = lua_frame_end(u, rule), call = 0, is_innermost = 0, previous = 0;

	w->state = end_va ? lua_find_state(u, slot, end_va) : 0;
	if (!w->state)
		return STEP_NATIVE;
	w->index = lua_state_index(slot, w->state) & (LUA_STATES - 1);
	if (slot->states[w->index].state == w->state) {
		call = slot->states[w->index].call;
	} else {
		is_innermost = 1;
		if (read_user(u, &call, sizeof(call),
			      w->state + (slot->is_array ? LUA_51_STATE_CALL : LUA_STATE_CALL)))
			return STEP_NATIVE;
	}
	if (!call || (slot->is_array && read_user(u, &w->first, sizeof(w->first), w->state + LUA_51_STATE_FIRST)))
		return STEP_NATIVE;
	/* A call that is being made may be of no function yet. */
	if (lua_read_call(u, slot, call, is_innermost, &w->call) &&
	    (!is_innermost || lua_previous(u, slot, w, call, &previous) ||
	     lua_read_call(u, slot, previous, 0, &w->call)))
		return lua_broken(u);
	/* The loop itself runs no function in C: its last call has ended. */
	if (is_innermost && u->is_leaf && !w->call.proto)
		return STEP_NATIVE;
	/* Memory is looked after before a call begins (5.2): if others call it, there will be another run of it. */
	if (w->call.callee == LUA_BEGINS) {
		if (lua_read_call(u, slot, w->call.previous, 0, &w->before))
			return lua_broken(u);
		if (w->call.function != w->before.callee)
			w->call = w->before;
	}
	slot->is_base = lua_is_base(u, slot, w->state, end_va);
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
	u64 caller = w->before.proto & 15 ? 0 : w->before.proto, places;

	/* Calls of functions in C may have what was there before them. */
	if (w->call.proto && w->call.status & slot->tail)
		caller = 0;
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
	was_last = slot->loop_call ? w->call.function != w->before.callee : w->call.status & slot->fresh;
	was_last = was_last && w->call.proto &&
		   !(slot->is_base && (w->before.proto || w->before.status & slot->protected));
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
