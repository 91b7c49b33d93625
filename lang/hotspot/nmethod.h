/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiled methods. A PcDesc leads from a place in the code to what was inlined there: a chain of scopes, innermost
 * first, each a method and a bytecode.
 */
#ifndef LANG_HOTSPOT_NMETHOD_H
#define LANG_HOTSPOT_NMETHOD_H

#include "base/types.h"

struct lang_names;
struct memory;
struct vm;

/* Names a place in the code of an nmethod: a line for each method there, innermost first. 0 or -errno. */
int nmethod_name(const struct vm *vm, struct memory *memory, u64 nmethod, u64 pc, struct lang_names *names);

/* Where the code of a CodeBlob begins. */
u64 nmethod_code(const struct vm *vm, struct memory *memory, u64 blob);

/* The CodeBlob's number; another one at the same place later on has another. */
u32 nmethod_id(const struct vm *vm, struct memory *memory, u64 nmethod);

#endif
