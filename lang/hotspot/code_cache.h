/* SPDX-License-Identifier: Apache-2.0 */
/* Where a JVM's generated code is, and what the kernel half needs to walk it. */
#ifndef LANG_HOTSPOT_CODE_CACHE_H
#define LANG_HOTSPOT_CODE_CACHE_H

#include <stdbool.h>

#include "lang/hotspot/hotspot.h"

struct lang_names;
struct memory;
struct vm;

/* Fills the slot. -EAGAIN while the JVM has not made its interpreter, -ENOTSUP if something is where it cannot be. */
int code_cache_read(const struct vm *vm, struct memory *memory, struct hotspot_slot *ret_slot);

/* The CodeBlob that an address lies in, or 0. */
u64 code_cache_find(const struct hotspot_slot *slot, struct memory *memory, u64 va);

/* Is it an nmethod? */
bool code_cache_is_method(const struct vm *vm, struct memory *memory, u64 blob);

/* Names a stub: by the entry of StubRoutines before the address, or by its blob. 0 or -errno. */
int code_cache_stub_name(const struct vm *vm, struct memory *memory, u64 blob, u64 va, struct lang_names *names);

#endif
