/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * CPython: what both halves share. The words of its slot say where the kernel
 * half finds the thread's state and its frames; a frame is a code object and
 * the instruction in it.
 */
#ifndef LANG_PYTHON_PYTHON_H
#define LANG_PYTHON_PYTHON_H

#include "base/types.h"

/* How frames hang together; the C function that interprets them is the loop, _PyEval_EvalFrameDefault(). */
enum python_frames {
	PYTHON_OBJECTS,		/* -3.10: a list of frame objects, one for each run of the loop */
	PYTHON_ENTRIES,		/* 3.11: each run has a _PyCFrame on its C stack; its outermost frame is marked */
	PYTHON_CSHIMS,		/* 3.12: ... and ends with a frame that is no function's: a shim, on its C stack */
	PYTHON_SHIMS,		/* 3.13-: only the shim is left */
};

#define PYTHON_OWNER_SHIM 3	/* FRAME_OWNED_BY_CSTACK, from 3.14 on _INTERPRETER; larger: one, too */

#define PYTHON_OWNER_GENERATOR 1	/* from 3.11 on: of a generator or coroutine */

#define PYTHON_SEEN 8		/* a power of two */

/* Offsets are in bytes; those in a block count from where it begins. */
struct python_slot {
	u64 frames;		/* enum python_frames */
	u64 self;		/* pthread_self(), from the thread pointer on */
	/* The thread's state: at a thread-specific value of libc, or at a variable, from the thread pointer on. */
	u64 tsd;
	u64 tsd_other;		/* if there is none: another variable, or 0; one of the two is set in all threads */
	u64 tsd_block;		/* 1: there is the address of a block, which holds the value at tsd_in_block */
	u64 tsd_in_block;
	u64 current_va;		/* -3.11: the state of the thread that holds the lock; 0: none */
	u64 thread_id;		/* in the state: pthread_self() */
	u64 top;		/* in the state: the innermost frame, or its _PyCFrame */
	u64 cframe_frame, cframe_previous;
	u64 frame_block;	/* of a frame, where the block begins that is read */
	u64 frame_previous, frame_code, frame_instruction, frame_owner;	/* owner of 3.11: is_entry */
	u64 code_block;
	u64 code_line, code_file, code_name;
	u64 code_qualname, code_lines;	/* in the code object */
	u64 code_start;		/* in the code object: its first instruction; unused for PYTHON_OBJECTS */
	u64 code_mask;		/* a reference to a code object may have tags in its low bits */
	u64 instruction_shift;	/* of PYTHON_OBJECTS: 1 if instructions are counted in bytes, 0 if in pairs */
	u64 copies;		/* free-threaded: in the code object, the threads' copies of its instructions */
	u64 frame_copy;		/* ... and in the block of a frame: which of them */
	u64 running_task;	/* in the state: asyncio's running task; 0: tasks that await it are not shown */
	u64 task_awaited_by, task_is_task, task_has_set, task_coroutine;	/* in a task */
	u64 generator_frame;	/* in a coroutine: its frame */
	u64 frame_stack;	/* in the block of a frame: where its stack of values ends ... */
	u64 awaited_below;	/* ... and how far below that is what it awaits */
	u64 object_type;
	/* Left zero, the kernel half's own: code objects of this walk. While it goes on they stay what they are. */
	struct {
		u64 code, cookie;
	} seen[PYTHON_SEEN];
};

#define PYTHON_BLOCK_WORDS 11	/* of a frame or code object */
#define PYTHON_BLOCK_BYTES (PYTHON_BLOCK_WORDS * sizeof(u64))

/*
 * A frame's own words. The first, 44 bits:
 *
 *	43              20 19              0
 *	| instruction     | cookie           |
 *
 * Instructions are counted in pairs of bytes. The second is the address of the code object. The cookie tells whether
 * there is another object by the time it is named.
 */
#define PYTHON_COOKIE_BITS 20
#define PYTHON_COOKIE_MASK ((1u << PYTHON_COOKIE_BITS) - 1)
#define PYTHON_INSTRUCTION_MASK 0xffffffu
#define PYTHON_INSTRUCTION_NONE PYTHON_INSTRUCTION_MASK	/* before the first, or not known */

static inline u64 python_cookie(u64 file_va, u64 name_va, u32 line)
{
	return (file_va / 16 + name_va / 16 * 31 + line * 131ull) & PYTHON_COOKIE_MASK;
}

#endif
