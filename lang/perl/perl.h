/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Perl: what both halves share. The words of its slot say where the kernel half
 * finds the thread's interpreter and the stacks of contexts in it; a frame is a
 * sub, or another context that has a name, and the file and line that it has
 * come to.
 */
#ifndef LANG_PERL_PERL_H
#define LANG_PERL_PERL_H

#include "base/types.h"

/* What a frame is. */
enum perl_kind {
	PERL_SUB_GLOB,		/* a sub, by the glob that names it */
	PERL_SUB_CODE,		/* ... by itself: it has its own name */
	PERL_EVAL_BLOCK,
	PERL_EVAL_TEXT,
	PERL_REQUIRE,		/* a file, by its name */
	PERL_PROGRAM,		/* the program, outside of all subs */
};

/* struct stackinfo (cop.h): contexts, the info before it, how many contexts less one; all are words but the last. */
#define PERL_INFO_WORDS 6
#define PERL_INFO_CONTEXTS 1
#define PERL_INFO_PREVIOUS 2
#define PERL_INFO_COUNT 4	/* the last context, the last that there is room for */
#define PERL_INFO_SORT 3	/* types of them: a comparison that is called again and again ... */
#define PERL_INFO_MULTICALL 10	/* ... a block that a module in C calls so */

/* struct context (cop.h) */
#define PERL_CONTEXT_TYPE 0
#define PERL_CONTEXT_COP 2	/* where what it was entered from had come to */
#define PERL_CONTEXT_RETURN 6	/* the operation to go on with; 0: C code has called it */
#define PERL_TYPE_MASK 0x0f
#define PERL_TYPE_SUB 9
#define PERL_TYPE_FORMAT 10
#define PERL_TYPE_EVAL 11
#define PERL_TYPE_DEFER 13	/* 5.36: of what leaves a block, called by C code */
#define PERL_SUB_PATTERN 0x40	/* (?{ }) in a pattern */
#define PERL_SUB_FAKE 0x80	/* ... which is of the sub around it */
#define PERL_EVAL_IS_BLOCK 0x40
#define PERL_EVAL_TRY 0x80	/* 5.34: try { }, which caller() leaves out, too */

/* struct sv, xpvcv, op (sv.h, cv.h, op.h) */
#define PERL_SV_TYPE_MASK 0xff
#define PERL_SV_GLOB 9
#define PERL_SV_STASH 12
#define PERL_SV_CODE 13
#define PERL_SV_FORMAT 14
#define PERL_CODE_NAME 56	/* in its body: a glob, or its own name */
#define PERL_CODE_FLAGS 88	/* ... in the upper half of this word */
#define PERL_CODE_NAMED 0x8000	/* it has its own name */
#define PERL_SV_TEXT 16		/* of a scalar */
#define PERL_GLOB_NAME 32	/* in its body */
#define PERL_COP_LINE 32	/* in the upper half of this word */
#define PERL_COP_FILE 48

#define PERL_SEEN 8		/* a power of two */

struct perl_code {
	u64 start_va, end_va;
};

struct perl_slot {
	u64 has_threads;	/* the thread has its interpreter as a value of libc; else these are addresses: */
	u64 op, cop, info;	/* in the interpreter: the operation, the statement, the stack of contexts */
	u64 value;		/* from the thread pointer on: the interpreter, or a block of such values ... */
	u64 value_in_block;	/* ... and in there */
	u64 is_in_block;
	u64 context_bytes;
	u64 sub_code;		/* words in a context: its sub */
	u64 eval_name, eval_env;	/* ... and of an eval: the name of a file, where C code goes back to at die() */
	u64 info_type;		/* in a stack of contexts, 4 bytes */
	struct perl_code callers[2];	/* call_sv(), eval_sv() */
	struct perl_code text;	/* all of Perl's code */
	/* Left zero, the kernel half's own: objects of this walk. While it goes on they stay what they are. */
	struct {
		u64 code, low;
	} subs[PERL_SEEN];
	struct {
		u64 cop, second;
	} places[PERL_SEEN];
};

/*
 * A frame's own words. The first, 48 bits, and the second:
 *
 *	47              4 3      0	63              20 19              0
 *	| object / 8     | kind   |	| file / 8        | line            |
 *
 * The object is what the kind says; the file a text or, without threads, a glob. Either may be 0.
 */
#define PERL_KIND_BITS 4
#define PERL_KIND_MASK ((1u << PERL_KIND_BITS) - 1)
#define PERL_LINE_BITS 20
#define PERL_LINE_MASK ((1u << PERL_LINE_BITS) - 1)
#define PERL_ADDRESS_MASK ((1ull << 44) - 1)		/* of an address / 8 */

#endif
