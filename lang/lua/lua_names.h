/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names, files and lines of Lua's functions, from their prototypes (lobject.h: struct Proto) in a process. A function
 * has no name of its own: it is called as the instruction says that has called it, by the name of a variable, of a
 * field or of a method, as Lua's own tracebacks do.
 *
 * A result that cannot be read is empty, and memory_err() says so; nothing there is believed.
 */
#ifndef LANG_LUA_NAMES_H
#define LANG_LUA_NAMES_H

#include <stddef.h>

#include "lang/lua/lua_layout.h"

struct memory;

#define LUA_NAME_MAX 256	/* bytes */

/* Is there a prototype of that many instructions, or more? */
bool lua_names_is_proto(const struct lua_layout *layout, struct memory *memory, u64 proto, u32 pc);

/* What the call at an instruction calls: "" if that has no name. */
void lua_names_called(const struct lua_layout *layout, struct memory *memory, u64 proto, u32 pc,
		      char ret_name[LUA_NAME_MAX]);

/* The line of an instruction, or 0. */
u32 lua_names_line(const struct lua_layout *layout, struct memory *memory, u64 proto, u32 pc);

/* Where it was defined: 0 is the whole of a file. */
u32 lua_names_first_line(const struct lua_layout *layout, struct memory *memory, u64 proto);

/* Its file; of a text that is no file's, a name for that. */
void lua_names_file(const struct lua_layout *layout, struct memory *memory, u64 proto, char *ret_file, size_t bytes);

#endif
