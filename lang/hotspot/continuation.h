/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * The stack of a virtual thread. When it is suspended, its frames are copied to the heap, into StackChunks; when it
 * goes on, only the first ones are copied back, and the last of them returns to a stub, which gets the next. So it is
 *
 *	on the carrier's stack		frames, the stub's address
 *	in the heap			the Continuation's `tail`: its frames; `parent`: its frames; ...
 *	on the carrier's stack		enterSpecial(), whose frame is a ContinuationEntry; Continuation.enter ...
 *
 * Frames in a chunk are as they were, but for interpreted ones: their frame pointer, where a callee has saved it, is in
 * words from there, and so are their own words from their frame pointer.
 */
#ifndef LANG_HOTSPOT_CONTINUATION_H
#define LANG_HOTSPOT_CONTINUATION_H

#include "lang/hotspot/hotspot.h"
#include "native.h"

#define CONT_WORDS 32		/* between the last frame and the ContinuationEntry */
#define CHUNKS_EMPTY_MAX 4	/* in a row */
#define CHUNK_WORDS_MAX (1 << 20)

#define NAME_CONTINUATION 0x61756e69746e6f63ull		/* StubRoutines (continua... */
#define NAME_CONTINUATION_AT 14

static inline struct hotspot_walk *cont_walk(struct unwind *u)
{
	return &((struct hotspot_slot *)u->slot)->walk;
}

/* Are the frames in the heap, at this place of the walk? */
static inline int cont_is_in_chunk(struct unwind *u)
{
	return cont_walk(u)->frames_end_va != 0;
}

/* ... and is the current one the last of its chunk? */
static inline int cont_is_at_end(struct unwind *u)
{
	return cont_is_in_chunk(u) && u->cfa >= cont_walk(u)->frames_end_va;
}

/* The object that a field at this address refers to; 0: none. */
static inline u64 cont_object(struct unwind *u, const struct hotspot_chunks *c, u64 va)
{
	u64 value = 0;
	u32 colour;

	if (read_user(u, &value, c->oop == HOTSPOT_OOP_COMPRESSED ? 4 : 8, va) || !value)
		return 0;
	if (c->oop == HOTSPOT_OOP_COMPRESSED)
		return c->oop_base + (value << (c->oop_shift & 31));
	if (c->oop == HOTSPOT_OOP_ADDRESS)
		return value;
	colour = value >> 12 & 15;
	return colour & 1 ? value >> 13 : colour & 2 ? value >> 14 : colour & 4 ? value >> 15 : value >> 16;
}

static inline u32 cont_field(const struct unwind *u, u32 offset)
{
	return (u32)(u->state[(offset >> 3) & 7] >> (offset & 4) * 8);
}

/* Goes on with the first frame of a chunk, or of the next that has any: 0, or -1 if there is none. */
static inline int cont_enter_chunk(struct unwind *u, const struct hotspot_chunks *c, u64 chunk)
{
	struct hotspot_walk *walk = cont_walk(u);
	u64 words[2];
	u32 sp, end;

	LOOP_NO_UNROLL
	for (u64 i = 0; i < CHUNKS_EMPTY_MAX; i++) {
		if (!chunk || chunk & 7 || read_user(u, u->state, HOTSPOT_CHUNK_BYTES, chunk))
			return -1;
		walk->parent_va = cont_object(u, c, chunk + c->parent);
		sp = cont_field(u, c->sp);
		end = c->has_argsize ? cont_field(u, c->size) - cont_field(u, c->bottom) : cont_field(u, c->bottom);
		if (sp < end)
			break;
		chunk = walk->parent_va;
	}
	if (sp >= end || end > cont_field(u, c->size) || end > CHUNK_WORDS_MAX ||
	    u->stack_switches >= STACK_SWITCHES_MAX)
		return -1;
	u->cfa = chunk + c->frames + 8 * (u64)sp;
	if (read_user(u, words, sizeof(words), u->cfa - sizeof(words)))
		return -1;
	u->stack_switches++;
	walk->frames_end_va = chunk + c->frames + 8 * (u64)end;
	u->fp_va = u->cfa - sizeof(words);
	u->regs.reg[REG_SP] = 0;
	return native_return(u, words[1]);
}

/* All frames in the heap were walked: on with what has entered them. 0, or -1 */
static inline int cont_leave_chunks(struct unwind *u, const struct hotspot_chunks *c)
{
	struct hotspot_walk *walk = cont_walk(u);
	u64 return_va = 0;

	walk->frames_end_va = 0;
	u->regs.reg[REG_SP] = 0;
	u->fp_va = walk->entry_return_va - 8;
	u->cfa = u->fp_va - c->entry_bytes;
	if (c->entry_pc_va && !read_user(u, &return_va, sizeof(return_va), c->entry_pc_va) && return_va)
		return native_return(u, return_va);
	u->cfa = walk->entry_return_va + 8;
	if (read_user(u, &return_va, sizeof(return_va), walk->entry_return_va))
		return unwind_end(u, END_UNREADABLE);
	return native_return(u, return_va);
}

/* The last frame of a chunk was walked. */
static inline int cont_next_chunk(struct unwind *u, const struct hotspot_chunks *c)
{
	return cont_enter_chunk(u, c, cont_walk(u)->parent_va) ? cont_leave_chunks(u, c) : 0;
}

#endif
