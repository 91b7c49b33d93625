/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * One frame of generated Java code, to its caller.
 *
 *   interpreted   a frame pointer, and at fixed places below it the Method, the bytecode, the caller's sp
 *   compiled      no frame pointer: the blob says how many words its frame has, from sp on
 *   stub          either of them, or nothing but the return address
 *
 * The interrupted frame may be half built or half gone: its code's bytes tell, see leaf_x86.h and leaf_arm64.h.
 */
#ifndef LANG_HOTSPOT_STEP_H
#define LANG_HOTSPOT_STEP_H

#include "lang/hotspot/continuation.h"
#include "lang/hotspot/hotspot.h"
#include "lang/list.h"
#include "native.h"

#define SEGMAP_HOPS 64		/* a byte leads back 254 segments at most, and the interpreter is not looked up */
#define EXTRA_WORDS 8		/* that code pushes for a call, beyond its frame */
#define FRAME_WORDS_MAX 65536	/* of one compiled frame */
#define METHOD_BYTES_MAX 0x12000	/* of a ConstMethod: 64 KiB of bytecode behind its header */

/* The first eight characters of a CodeBlob's name. */
#define NAME_NMETHOD 0x00646f6874656d6eull	/* nmethod */
#define NAME_NATIVE  0x6e2065766974616eull	/* native nmethod */

static inline int step_in_code(const struct hotspot_slot *s, u64 va)
{
	return va >= s->code_start_va && va < s->code_end_va;
}

/* The CodeBlob that an address lies in, or 0. */
static inline u64 step_find_blob(struct unwind *u, const struct hotspot_slot *s, u64 va)
{
	u64 start = 0, segmap = 0;
	u8 back;

	for (u64 i = 0; i < HOTSPOT_HEAPS_MAX; i++) {
		if (va >= s->heap[i].start_va && va < s->heap[i].end_va) {
			start = s->heap[i].start_va;
			segmap = s->heap[i].segmap_va;
		}
	}
	if (!segmap)
		return 0;
	u->mid = (va - start) >> (s->segment_shift & 31);
	LOOP_NO_UNROLL
	for (u64 i = 0; i < SEGMAP_HOPS; i++) {
		if (read_user(u, &back, 1, segmap + u->mid) || back == 0xff || back > u->mid)
			return 0;	/* not there, or free */
		if (!back)
			return start + (u->mid << (s->segment_shift & 31)) + s->block_bytes;
		u->mid -= back;
	}
	return 0;
}

/* Of the blob's bytes in u->state[]. */
static inline u64 step_field(const struct unwind *u, u32 offset)
{
	return u->state[(offset >> 3) & (STATE_WORDS - 1)];
}

static inline u32 step_field32(const struct unwind *u, u32 offset)
{
	return (u32)(step_field(u, offset) >> (offset & 4) * 8);
}

/* Goes to the caller, whose sp is u->cfa. */
static inline int step_return(struct unwind *u, u64 return_va)
{
	const struct hotspot_slot *s = (const struct hotspot_slot *)u->slot;

	cont_walk(u)->returned_va = return_va;
	if (cont_is_at_end(u))
		return cont_next_chunk(u, &s->chunks) ? STEP_END : STEP_CALLER;
	return native_return(u, return_va) ? STEP_END : STEP_CALLER;
}

static inline int step_unreadable(struct unwind *u)
{
	unwind_end(u, END_UNREADABLE);
	return STEP_END;
}

static inline int step_push(struct unwind *u, u64 kind, u64 object, u64 id, u64 va)
{
	return unwind_push_runtime(u, LANG_HOTSPOT, object, kind << HOTSPOT_KIND_SHIFT |
				   (id & HOTSPOT_ID_MASK) << HOTSPOT_ID_SHIFT | (va & HOTSPOT_VA_MASK));
}

/* By the frame pointer: what is there is the top of a frame, on arm64, too. */
static inline int step_frame_pointer(struct unwind *u)
{
	if (native_frame_pointer(u))
		return STEP_END;
	u->sp_lost = 0;
	return STEP_CALLER;
}

#if REG_RA == 30
#include "lang/hotspot/leaf_arm64.h"
#else
#include "lang/hotspot/leaf_x86.h"
#endif

/*
 *	fp + 8	return address		state[9]
 *	fp	caller's fp		state[8]
 *	fp - 8	caller's sp		state[7]
 *	fp - 24	Method			state[5]
 *	...	bytecode, before the last call; in r13 while the method runs itself
 */
static inline int step_frame_words(struct unwind *u)
{
	u64 fp;

	if (cont_is_in_chunk(u)) {
		u64 saved_va = u->fp_va;

		if (native_fp(u))
			return -1;
		u->regs.reg[REG_FP] = saved_va + 8 * u->regs.reg[REG_FP];
	} else if (native_fp(u)) {
		return -1;
	}
	fp = u->regs.reg[REG_FP];
	if (fp & 7 || read_user(u, u->state, 10 * sizeof(u64), fp - 8 * sizeof(u64)))
		return unwind_end(u, END_UNREADABLE);
	return 0;
}

static inline int step_in_entry(const struct hotspot_slot *s, u64 pc)
{
	u64 at = pc - s->interpreter_start_va;
	int found = 0;

	LOOP_NO_UNROLL
	for (u64 i = 0; i < HOTSPOT_ENTRIES_MAX; i++)
		if (at >= s->entry[i].start && at < s->entry[i].end)
			found = 1;
	return found;
}

/* Of the interrupted method: a register is the bytecode, if it lies in the method, else the last one that was saved. */
static inline u64 step_bytecode(struct unwind *u, const struct hotspot_slot *s, u64 method, u64 saved)
{
	u64 const_method, bcp = u->regs.reg[REG_BYTECODE];

	if (!u->is_leaf || read_user(u, &const_method, sizeof(const_method), method + s->const_method) ||
	    bcp - const_method >= METHOD_BYTES_MAX)
		return saved;
	return bcp;
}

/* From an interpreted frame in a chunk; its words are in u->state[]. Its locals may be the last words of the chunk. */
static inline int step_in_chunk(struct unwind *u, u64 fp)
{
	u->cfa = fp + 8 * u->state[7];
	if (u->cfa < fp + 16 || u->cfa - fp > GUESS_FRAME_MAX)
		u->cfa = fp + 16;
	if (fp + 8 * (u->state[1] + 1) >= cont_walk(u)->frames_end_va)
		u->cfa = cont_walk(u)->frames_end_va;
	u->fp_va = fp;
	return step_return(u, u->state[9]);
}

static inline int step_interpreted(struct unwind *u, const struct hotspot_slot *s)
{
	u64 fp, sp = u->regs.reg[REG_SP], method, saved_bcp;

	if (u->is_leaf && step_in_entry(s, u->regs.pc))
		return step_entry(u, s);
	if (step_frame_words(u))
		return STEP_END;
	fp = u->regs.reg[REG_FP];
	method = u->state[5];
	saved_bcp = u->state[(8 - s->bcp_slot) & 7];
	u->cfa = u->state[7];
	if (u->is_leaf && sp > fp - 3 * sizeof(u64)) {	/* these are not pushed yet */
		method = u->regs.reg[REG_METHOD];
		saved_bcp = 0;
		if (sp >= fp)
			u->cfa = u->regs.reg[REG_SENDER];
	}
	if (step_push(u, HOTSPOT_INTERPRETED, method, 0, step_bytecode(u, s, method, saved_bcp)))
		return STEP_END;
	if (cont_is_in_chunk(u))
		return step_in_chunk(u, fp);
	if (u->cfa < fp + 16 || u->cfa - fp > GUESS_FRAME_MAX)
		u->cfa = fp + 16;
	u->regs.reg[REG_FP] = u->state[8];
	u->sp_lost = 0;
	return step_return(u, u->state[9]);
}

static inline int step_is_method(struct unwind *u, u64 name_va)
{
	u64 name = 0;

	(void)read_user(u, &name, sizeof(name), name_va);
	return name == NAME_NMETHOD || name == NAME_NATIVE;
}

/*
 * Not where the frame's size says. Some code pushes a few more words for a call: a return address is looked for above.
 * Only stubs are called by code that is not generated.
 */
static inline int step_by_search(struct unwind *u, const struct hotspot_slot *s, u64 blob, u64 return_va)
{
	u64 name_va = 0;

	if (!native_find_map(u, return_va) && !read_user(u, &name_va, sizeof(name_va), blob + s->name) &&
	    !step_is_method(u, name_va)) {
		u->fp_va = u->cfa - 16;
		return step_return(u, return_va);
	}
	LOOP_NO_UNROLL
	for (u64 i = 0; i < EXTRA_WORDS; i++) {
		u->cfa += 8;
		if (read_user(u, &return_va, sizeof(return_va), u->cfa - 8))
			return step_unreadable(u);
		if (step_in_code(s, return_va)) {
			u->fp_va = u->cfa - 16;
			return step_return(u, return_va);
		}
	}
	unwind_end(u, END_RUNTIME);
	return STEP_END;
}

/* The frame has that many words, the last of them the return address. */
static inline int step_by_size(struct unwind *u, const struct hotspot_slot *s, u64 blob, u64 words)
{
	u64 return_va;

	if (u->sp_lost) {
		unwind_end(u, END_RUNTIME);
		return STEP_END;
	}
	u->cfa = u->regs.reg[REG_SP] + words * 8;
	if (read_user(u, &return_va, sizeof(return_va), u->cfa - 8))
		return step_unreadable(u);
	if (!step_in_code(s, return_va))
		return step_by_search(u, s, blob, return_va);
	u->fp_va = u->cfa - 16;
	return step_return(u, return_va);
}

/* Is this the stub that gets the frames of a virtual thread, from the heap? */
static inline int step_is_continuation(struct unwind *u, const struct hotspot_slot *s, u64 blob)
{
	u64 name_va, name;

	return s->chunks.oop && !cont_is_in_chunk(u) && !read_user(u, &name_va, sizeof(name_va), blob + s->name) &&
	       !read_user(u, &name, sizeof(name), name_va + NAME_CONTINUATION_AT) && name == NAME_CONTINUATION;
}

/* The first return address above sp, with some bytes left out: u->cfa is behind it. 0: there is none */
static inline u64 step_search(struct unwind *u, const struct hotspot_slot *s, u64 skip)
{
	u64 return_va;

	u->cfa = u->regs.reg[REG_SP] + skip;
	LOOP_NO_UNROLL
	for (u64 i = 0; i < CONT_WORDS; i++) {
		u->cfa += 8;
		if (read_user(u, &return_va, sizeof(return_va), u->cfa - 8))
			return 0;
		if (step_in_code(s, return_va))
			return return_va;
	}
	return 0;
}

/*
 * The frames of a virtual thread that are in the heap: STEP_CALLER, with the first of them, or STEP_NATIVE if they
 * cannot be had. What has entered them is on the stack, behind its ContinuationEntry.
 */
static inline int step_to_chunks(struct unwind *u, const struct hotspot_slot *s)
{
	const struct hotspot_chunks *c = &s->chunks;
	u64 cont;

	if (!step_search(u, s, c->entry_bytes + 8))
		return STEP_NATIVE;
	cont_walk(u)->entry_return_va = u->cfa - 8;
	if (read_user(u, &cont, sizeof(cont), u->cfa - 16 - c->entry_bytes + c->entry_cont) ||
	    cont_enter_chunk(u, c, cont_object(u, c, cont + c->tail)))
		return STEP_NATIVE;
	return STEP_CALLER;
}

/* What has called a stub that keeps no frame pointer is the first return address above. */
static inline int step_through_stub(struct unwind *u, const struct hotspot_slot *s, u64 blob)
{
	u64 pc = u->regs.pc, return_va;

	/* The stub only stands in for the frames, unless something that it has called runs. */
	if (step_is_continuation(u, s, blob) && step_to_chunks(u, s) == STEP_CALLER)
		return pc == cont_walk(u)->returned_va || !step_push(u, HOTSPOT_COMPILED, blob, 0, pc) ?
		       STEP_CALLER : STEP_END;
	if (step_push(u, HOTSPOT_COMPILED, blob, 0, pc))
		return STEP_END;
	return_va = step_search(u, s, 0);
	if (!return_va)
		return step_frame_pointer(u);
	u->fp_va = u->cfa - 16;
	return step_return(u, return_va);
}

/* A stub whose frame has no fixed size. */
static inline int step_stub(struct unwind *u, const struct hotspot_slot *s, u64 blob)
{
	u64 pc = u->regs.pc;

	if (!u->is_leaf && pc != s->call_stub_va)
		return step_through_stub(u, s, blob);
	if (step_push(u, HOTSPOT_COMPILED, blob, 0, pc))
		return STEP_END;
	return u->is_leaf ? step_stub_leaf(u, s, pc) : step_frame_pointer(u);
}

/* A return address that was bent to the code that throws the frame away: where it would have returned to. */
static inline u64 step_original_pc(struct unwind *u, const struct hotspot_slot *s, u64 blob)
{
	u64 pc = u->regs.pc, handler, original;
	u32 offset = 0;

	if (s->read_deopt == HOTSPOT_NOT_READ)
		return pc;
	handler = s->deopt_is_pointer ? step_field(u, s->read_deopt) : blob + step_field32(u, s->read_deopt);
	if (pc != handler)
		return pc;
	if (read_user(u, &offset, sizeof(offset), blob + s->orig_pc) || offset > FRAME_WORDS_MAX * 8 ||
	    read_user(u, &original, sizeof(original), u->regs.reg[REG_SP] + offset) || !step_in_code(s, original))
		return pc;
	return original;
}

/* The frame that was interrupted. */
static inline int step_leaf_blob(struct unwind *u, const struct hotspot_slot *s, u64 blob)
{
	u64 code_va, complete;
	u32 frame_words, id = 0;
	int step;

	(void)read_user(u, &id, sizeof(id), blob + s->compile_id);
	if (read_user(u, u->state, HOTSPOT_BLOB_BYTES, blob))
		return step_unreadable(u);
	frame_words = step_field32(u, s->frame_size);
	code_va = s->code_is_pointer ? step_field(u, s->code_begin) : blob + step_field32(u, s->code_begin);
	complete = s->frame_complete_is_short ?
		   (u64)(s16)(step_field(u, s->frame_complete) >> (s->frame_complete & 6) * 8) :
		   (u64)(s32)step_field32(u, s->frame_complete);
	if (complete > FRAME_WORDS_MAX * 8)
		complete = 0;		/* -1: never */
	if (!frame_words || frame_words > FRAME_WORDS_MAX)
		return step_stub(u, s, blob);
	if (step_push(u, HOTSPOT_COMPILED, blob, id, u->regs.pc))
		return STEP_END;
	step = step_half(u, code_va, complete, frame_words);
	return step != STEP_AGAIN ? step : step_by_size(u, s, blob, frame_words);
}

/* A frame that has called another. */
static inline int step_caller_blob(struct unwind *u, const struct hotspot_slot *s, u64 blob)
{
	u32 frame_words;

	if (read_user(u, u->state, s->piece_bytes & 127, blob + s->piece_at) ||
	    read_user(u, u->state + HOTSPOT_PIECE_BYTES / 8, sizeof(u64), blob + s->word_at))
		return step_unreadable(u);
	frame_words = step_field32(u, s->read_frame_size);
	if (!frame_words || frame_words > FRAME_WORDS_MAX)
		return step_stub(u, s, blob);
	if (step_push(u, HOTSPOT_COMPILED, blob, step_field32(u, s->read_id), step_original_pc(u, s, blob)))
		return STEP_END;
	return step_by_size(u, s, blob, frame_words);
}

static inline int hotspot_step(struct unwind *u)
{
	const struct hotspot_slot *s = (const struct hotspot_slot *)u->slot;
	u64 pc = u->regs.pc, blob;

	if (pc >= s->interpreter_start_va && pc < s->interpreter_end_va)
		return step_interpreted(u, s);
	blob = step_find_blob(u, s, pc - u->is_return);
	if (!blob)
		return STEP_NATIVE;
	return u->is_leaf ? step_leaf_blob(u, s, blob) : step_caller_blob(u, s, blob);
}

#endif
