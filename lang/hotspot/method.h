/* SPDX-License-Identifier: Apache-2.0 */
/* A Java method: its names, and the line of a bytecode. */
#ifndef LANG_HOTSPOT_METHOD_H
#define LANG_HOTSPOT_METHOD_H

#include "base/types.h"

struct lang_names;
struct memory;
struct vm;

#define METHOD_NO_BCI (-1)

/* Which bytecode of a Method an address is; METHOD_NO_BCI if none. JDK 8 may have the index in the address's place. */
s32 method_bci(const struct vm *vm, struct memory *memory, u64 method, u64 bcp);

/* Adds a line to the names: package.Class.method, its file, and the line of a bytecode. 0 or -errno. */
int method_name(const struct vm *vm, struct memory *memory, u64 method, s32 bci, struct lang_names *names);

#endif
