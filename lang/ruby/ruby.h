/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Ruby (MRI): what both halves share. The words of its slot say where the
 * kernel half finds the thread's execution context and its control frames; a
 * frame is an instruction sequence with the instruction in it, and the method
 * that it is of.
 */
#ifndef LANG_RUBY_RUBY_H
#define LANG_RUBY_RUBY_H

#include "base/types.h"

/* How a thread finds its execution context. */
enum ruby_context {
	RUBY_CONTEXT_NONE,
	RUBY_CONTEXT_GLOBAL,	/* -2.7: a variable holds that of the thread that has the lock */
	RUBY_CONTEXT_STATIC,	/* a variable of the thread, so far from the thread pointer */
	RUBY_CONTEXT_DYNAMIC,	/* ... in the block that the thread has for the library's variables */
};

#define RUBY_SEEN 8		/* a power of two */

/*
 * Control frames are an array; the innermost is the first. A frame's environment ends where ep points to: the method
 * entry or what it is found by, the environment around it or the block, flags (vm_core.h: rb_control_frame_t,
 * VM_ENV_DATA_INDEX_ME_CREF; the same from 2.7 to 3.4).
 */
#define RUBY_CONTEXT_WORDS 3	/* stack, its words, the innermost frame */
#define RUBY_FRAME_PC 0
#define RUBY_FRAME_ISEQ 2
#define RUBY_FRAME_EP 4
#define RUBY_FRAME_READ 40	/* bytes of one, as far as they are looked at */
#define RUBY_ENV_BELOW 16	/* bytes of an environment below ep */
#define RUBY_FLAG_LOCAL 0x02	/* there is no environment around it */
#define RUBY_FLAG_FINISH 0x20	/* the outermost frame of a run of the loop */
#define RUBY_FLAG_C 0x80	/* of C code */
#define RUBY_TYPE_MASK 0x7fff0001u
#define RUBY_TYPE_CFUNC 0x55550001u
#define RUBY_TYPE_DUMMY 0x79990001u

/* Objects begin with flags; those of the interpreter itself have a kind (internal/imemo.h). */
#define RUBY_IMEMO(kind) (0x1a | (kind) << 12)
#define RUBY_IMEMO_MASK 0xf01f
#define RUBY_IMEMO_SVAR RUBY_IMEMO(2)	/* a method entry, with variables such as $~ */
#define RUBY_IMEMO_METHOD RUBY_IMEMO(6)
#define RUBY_IMEMO_ISEQ RUBY_IMEMO(7)

#define RUBY_ISEQ_BODY 16	/* in the instruction sequence */
#define RUBY_BODY_CODE 8	/* in its body: the instructions */

struct ruby_code {
	u64 start_va, end_va;
};

/* Offsets are in bytes. */
struct ruby_slot {
	u64 context;		/* enum ruby_context */
	u64 context_at;		/* its address; or from the thread pointer, or the beginning of the block, on */
	u64 vector;		/* from the thread pointer on: the blocks of the thread ... */
	u64 vector_at;		/* ... and in there: this library's */
	u64 context_thread;	/* of RUBY_CONTEXT_GLOBAL: in the context, its thread ... */
	u64 thread_id;		/* ... and in there: pthread_self() */
	u64 frame_bytes;
	struct ruby_code exec[2], core[2];	/* rb_vm_exec(), vm_exec_core(), with .cold parts */
	struct ruby_code text;	/* all of the library's code */
	/* Left zero, the kernel half's own: objects of this walk. While it goes on they stay what they are. */
	struct {
		u64 iseq, code, cookie;
	} seen[RUBY_SEEN];
	struct {
		u64 va, method;
	} entries[RUBY_SEEN];
};

/*
 * A frame's own words. The first, 48 bits, and the second:
 *
 *	47              4 3      0	63              20 19              0
 *	| method / 8     | cookie |	| iseq / 8        | instruction     |
 *
 * Either may be 0: a function written in C has no instruction sequence, and a program's own code no method. The cookie
 * tells whether there is another object by the time it is named.
 */
#define RUBY_COOKIE_BITS 4
#define RUBY_COOKIE_MASK ((1u << RUBY_COOKIE_BITS) - 1)
#define RUBY_INSTRUCTION_BITS 20
#define RUBY_INSTRUCTION_MASK ((1u << RUBY_INSTRUCTION_BITS) - 1)
#define RUBY_INSTRUCTION_NONE RUBY_INSTRUCTION_MASK	/* not known */
#define RUBY_ADDRESS_MASK ((1ull << 44) - 1)		/* of an address / 8 */

static inline u64 ruby_cookie(u64 code_va)
{
	return (code_va >> 4 ^ code_va >> 9 ^ code_va >> 14) & RUBY_COOKIE_MASK;
}

#endif
