/* SPDX-License-Identifier: Apache-2.0 */
/* A function, by its SharedFunctionInfo: its name, its script, and lines of it. */
#ifndef LANG_V8_FUNCTION_H
#define LANG_V8_FUNCTION_H

#include "base/types.h"

struct heap;
struct lang_names;

#define FUNCTION_NO_POSITION (-1)

/* Its number in its script, as the kernel half reads it. */
u32 function_literal_id(struct heap *heap, u64 shared);

/*
 * Adds a line to the names: function, script, and the line of an offset in the script; without one, the line that the
 * function starts in. 0 or -errno.
 */
int function_name(struct heap *heap, u64 shared, s32 position, struct lang_names *names);

/* The position of a bytecode, by its offset from the BytecodeArray's tagged pointer on. */
s32 function_bytecode_position(struct heap *heap, u64 array, u64 offset);

/* The BytecodeArray of a function, or 0. */
u64 function_bytecode(struct heap *heap, u64 shared);

#endif
