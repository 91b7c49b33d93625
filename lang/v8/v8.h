/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* What both halves of the language share: the words of a process's slot, and of a frame. */
#ifndef LANG_V8_V8_H
#define LANG_V8_V8_H

#include "abi.h"

/* Words of a frame that are read at once: 8 below the frame pointer, what it points to, and the return address. */
#define V8_BELOW 8
#define V8_WORDS 10

struct v8_slot {
	/* Indices of the words of a frame, below V8_BELOW. */
	u8 context, function, bytecode_array, bytecode_offset;
	/* Registers of the interpreter, in DWARF's numbers. */
	u8 array_register, offset_register;
	u16 map_type;					/* offset of the instance type in a Map */
	u16 shared;					/* offset in a JSFunction */
	u16 function_data, literal_id;			/* offsets in a SharedFunctionInfo */
	/* Instance types. */
	u16 first_function, last_function, bytecode_type;
	u16 pad[2];
};
_Static_assert(sizeof(struct v8_slot) <= SLOT_WORDS * 8, "fits a slot");
_Static_assert(sizeof(struct v8_slot) % 8 == 0, "no padding behind");

/*
 * A frame:
 *
 *	first word, 48 bits	a SharedFunctionInfo, or 0 if it is not known
 *	second word
 *	63     62 61    48 47                0
 *	| kind   | cookie | value             |
 *
 * The cookie is the lowest bits of the function's number in its script: another function is not at that place by then.
 */
enum v8_frame {
	V8_INTERPRETED,		/* value: offset of the bytecode, from the BytecodeArray's tagged pointer on */
	V8_COMPILED,		/* value: an address in generated code */
	V8_STUB,		/* value: type of the frame */
};

#define V8_KIND_SHIFT   62
#define V8_COOKIE_SHIFT 48
#define V8_COOKIE_MASK  0x3fffULL
#define V8_VALUE_MASK   0xffffffffffffULL

#endif
