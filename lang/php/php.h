/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * PHP: what both halves share. The words of its slot say where the kernel half
 * finds the frame that runs; a frame of a profile is a function with the line
 * that it has come to.
 */
#ifndef LANG_PHP_PHP_H
#define LANG_PHP_PHP_H

#include "base/types.h"

/* What a frame is. */
enum php_kind {
	PHP_FUNCTION,		/* with a name */
	PHP_INTERNAL,		/* ... written in C: it has no file */
	PHP_MAIN,		/* a file that runs from its beginning */
	PHP_INCLUDE,		/* ... that another includes */
	PHP_EVAL,
};

/* struct _zend_execute_data (zend_compile.h); all are words. */
#define PHP_FRAME_WORDS 7
#define PHP_FRAME_OPLINE 0
#define PHP_FRAME_FUNCTION 3
#define PHP_FRAME_FLAGS 5	/* in the lower half, with a type; then the number of arguments */
#define PHP_FRAME_PREVIOUS 6
#define PHP_CALL_CODE (1u << 16)	/* of a file, not of a function */
#define PHP_CALL_TOP (1u << 17)	/* the outermost frame of a run of the loop */

/* union _zend_function */
#define PHP_FUNCTION_WORDS 3	/* its type in the lowest byte, its name, its class */
#define PHP_TYPE_INTERNAL 1
#define PHP_TYPE_USER 2
#define PHP_TYPE_EVAL 4

#define PHP_OPLINE_LINE 24
#define PHP_OPLINE_BYTES 32
#define PHP_CLASS_NAME 8

#define PHP_SEEN 8		/* a power of two */

struct php_code {
	u64 start_va, end_va;
};

struct php_slot {
	u64 current;		/* the address of EG(current_execute_data) */
	u64 file, opcodes;	/* in a function, in bytes: the name of its file, its first instruction */
	struct php_code loop[2];	/* execute_ex(), with its .cold part */
	struct php_code caller;	/* zend_call_function() */
	struct php_code text;	/* all code of the file */
	u64 frame_bytes;	/* of execute_ex(), up to and with its return address; 0: not known */
	u64 fp_below;		/* ... and from there down to the frame pointer of its caller; 0: it is not saved */
	/* Left zero, the kernel half's own: functions of this walk. While it goes on they stay what they are. */
	struct {
		u64 function, type, cookie;
	} seen[PHP_SEEN];
};

/*
 * A frame's own words. The first, 48 bits, and the second:
 *
 *	47                4 3      0	63              24 23              0
 *	| function / 8     | kind   |	| cookie          | line            |
 *
 * The cookie tells whether there is another function by the time it is named.
 */
#define PHP_KIND_BITS 4
#define PHP_KIND_MASK ((1u << PHP_KIND_BITS) - 1)
#define PHP_LINE_BITS 24
#define PHP_LINE_MASK ((1u << PHP_LINE_BITS) - 1)
#define PHP_ADDRESS_MASK ((1ull << 44) - 1)		/* of an address / 8 */
#define PHP_COOKIE_MASK ((1ull << (64 - PHP_LINE_BITS)) - 1)

static inline u64 php_cookie(u64 name_va, u64 class_va, u64 file_va)
{
	return (name_va * 3 ^ class_va * 5 ^ file_va) >> 3 & PHP_COOKIE_MASK;
}

#endif
