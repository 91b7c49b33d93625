/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names, files and lines of LuaJIT's functions, from their prototypes (lj_obj.h: struct GCproto) in a process. A
 * function has no name of its own: it is called as the instruction says that has called it, by the name of a variable,
 * of a field or of a method, as LuaJIT's own tracebacks do.
 *
 * A result that cannot be read is empty, and memory_err() says so; nothing there is believed.
 */
#ifndef LANG_LUAJIT_NAMES_H
#define LANG_LUAJIT_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/types.h"

struct memory;

#define LUAJIT_NAME_MAX 256	/* bytes */

/* An instruction of a function. */
struct luajit_place {
	u64 proto;
	u32 index;
};

/* The function that an instruction is of: it is looked for before it. False if there is none. */
bool luajit_names_place(struct memory *memory, u64 pc_va, struct luajit_place *ret_place);

/* What the call at an instruction calls: "" if that has no name. */
void luajit_names_called(struct memory *memory, u64 pc_va, char ret_name[LUAJIT_NAME_MAX]);

/* The line of an instruction, or 0. */
u32 luajit_names_line(struct memory *memory, const struct luajit_place *place);

/* Is it the whole of a file, or of a text? */
bool luajit_names_is_chunk(struct memory *memory, u64 proto);

/* Where a function was defined. */
u32 luajit_names_first_line(struct memory *memory, u64 proto);

/* Its file; of a text that is no file's, a name for that. */
void luajit_names_file(struct memory *memory, u64 proto, char *ret_file, size_t bytes);

#endif
