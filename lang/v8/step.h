/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * One frame of V8's code, to its caller. All of its frames keep the frame pointer:
 *
 *	fp + 8	return address
 *	fp	caller's fp
 *	fp - 8	a Context, or, of a frame that is no function's, its type as a small integer
 *	fp - 16	the JSFunction
 *	...	the BytecodeArray and the offset in it, of an interpreted function
 *
 * The interpreter and other built-in code lie in the file, which may be mapped once more, near the rest, which is
 * generated. The interrupted frame may be half built or half gone, or have none: built-in code that calls nothing makes
 * none. How far it is built, and where its return address is until then, is for leaf_x86.h and leaf_arm64.h to tell.
 */
#ifndef LANG_V8_STEP_H
#define LANG_V8_STEP_H

#include "lang/list.h"
#include "lang/v8/v8.h"
#include "native.h"

static inline int step_is_pointer(u64 word)
{
	return (word & 3) == 1;
}

/* An integer of 32 bits, in the upper half. */
static inline int step_is_small(u64 word)
{
	return !(u32)word;
}

/* The type of an object, or 0. */
static inline u32 step_type(struct unwind *u, const struct v8_slot *s, u64 object)
{
	u64 map;
	u16 type;

	if (!step_is_pointer(object) || read_user(u, &map, sizeof(map), object - 1) || !step_is_pointer(map) ||
	    read_user(u, &type, sizeof(type), map - 1 + s->map_type))
		return 0;
	return type;
}

/* The SharedFunctionInfo of a JSFunction, or 0 if it is none. */
static inline u64 step_shared(struct unwind *u, const struct v8_slot *s, u64 function)
{
	u32 type = step_type(u, s, function);
	u64 shared;

	if (type < s->first_function || type > s->last_function ||
	    read_user(u, &shared, sizeof(shared), function - 1 + s->shared) || !step_is_pointer(shared))
		return 0;
	return shared;
}

static inline int step_push(struct unwind *u, const struct v8_slot *s, u64 kind, u64 shared, u64 value)
{
	u32 id = 0;

	if (shared)
		(void)read_user(u, &id, sizeof(id), shared - 1 + s->literal_id);
	return unwind_push_runtime(u, LANG_V8, shared, kind << V8_KIND_SHIFT |
				   (id & V8_COOKIE_MASK) << V8_COOKIE_SHIFT | (value & V8_VALUE_MASK));
}

/* Built-in code has symbols. */
static inline int step_push_native(struct unwind *u)
{
	u->is_guess = 0;
	return unwind_push(u, native_frame(u, 0, 1));
}

static inline int step_end(struct unwind *u, u8 why)
{
	unwind_end(u, why);
	return STEP_END;
}

#if REG_RA == 30
#include "lang/v8/leaf_arm64.h"
#else
#include "lang/v8/leaf_x86.h"
#endif

/* By the words of the frame in u->state[]. What C++ has called has pushed more above them, on arm64. */
static inline int step_return(struct unwind *u)
{
	u->cfa = u->regs.reg[REG_FP] + 16;
	u->regs.reg[REG_FP] = u->state[V8_BELOW];
	u->sp_lost = REG_RA == 30;
	return native_return(u, u->state[V8_BELOW + 1]) ? STEP_END : STEP_CALLER;
}

/* The interrupted frame is half built or half gone: a register has the function until its frame is there. */
static inline int step_half(struct unwind *u, const struct v8_slot *s, int in_builtins, int at)
{
	u64 pc = u->regs.pc;

	if (in_builtins ? step_push_native(u) :
			  step_push(u, s, V8_COMPILED, step_shared(u, s, u->regs.reg[REG_FUNCTION]), pc))
		return STEP_END;
	return step_at(u, (u64)at);
}

/* -1 if there is no frame that can be read; u->trace.end says so. */
static inline int step_frame_words(struct unwind *u)
{
	u64 fp, sp = u->regs.reg[REG_SP];

	if (native_fp(u))
		return -1;
	fp = u->regs.reg[REG_FP];
	if (fp & 7 || fp + 16 <= sp || fp - sp > GUESS_FRAME_MAX)
		return unwind_end(u, END_RUNTIME);
	if (read_user(u, u->state, V8_WORDS * sizeof(u64), fp - V8_BELOW * sizeof(u64)))
		return unwind_end(u, END_UNREADABLE);
	return 0;
}

/* The offset is saved at calls only; until then both are in registers, if the array still is. */
static inline u64 step_bytecode(struct unwind *u, const struct v8_slot *s, u64 array, u64 saved)
{
	if (u->is_leaf && s->array_register && u->regs.reg[s->array_register & REG_MASK] == array)
		return (u32)u->regs.reg[s->offset_register & REG_MASK];
	return saved >> 32;
}

static inline int step_interpreted(struct unwind *u, const struct v8_slot *s, u64 shared)
{
	u64 array = u->state[s->bytecode_array & 7], saved = u->state[s->bytecode_offset & 7];

	/* What calls something has its own frame; what is interrupted has perhaps none, and is shown above. */
	if (u->is_leaf && step_push_native(u))
		return STEP_END;
	if (step_push(u, s, V8_INTERPRETED, shared, step_bytecode(u, s, array, saved)))
		return STEP_END;
	return step_return(u);
}

/* Built-in code that has no frame, called from code that has one? */
static inline int step_is_frameless(struct unwind *u, const struct v8_slot *s, u64 shared)
{
	u64 word;

	/* A built-in function, which the frame is of. */
	if (read_user(u, &word, sizeof(word), shared - 1 + s->function_data) || step_is_small(word))
		return 0;
	return step_called_from(u) != 0;
}

static inline int step_builtin(struct unwind *u, const struct v8_slot *s, u64 shared)
{
	u64 array = u->state[s->bytecode_array & 7], offset = u->state[s->bytecode_offset & 7];

	if (shared && step_is_small(offset) && step_type(u, s, array) == s->bytecode_type)
		return step_interpreted(u, s, shared);
	if (step_push_native(u))
		return STEP_END;
	if (u->is_leaf && shared && step_is_frameless(u, s, shared))
		return step_at(u, 0);
	return step_return(u);
}

static inline int v8_step(struct unwind *u)
{
	const struct v8_slot *s = (const struct v8_slot *)u->slot;
	u64 va = u->regs.pc - u->is_return, marker, shared = 0;
	int in_builtins = u->map.binary != 0, at = u->is_leaf ? step_leaf(u) : -1;

	if (at >= 0)
		return step_half(u, s, in_builtins, at);
	if (step_frame_words(u))
		return STEP_END;
	marker = u->state[s->context & 7];
	if (marker & 1)
		shared = step_shared(u, s, u->state[s->function & 7]);
	if (in_builtins)
		return step_builtin(u, s, shared);
	if (marker & 1 ? step_push(u, s, V8_COMPILED, shared, va) : step_push(u, s, V8_STUB, 0, marker >> 1))
		return STEP_END;
	return step_return(u);
}

#endif
