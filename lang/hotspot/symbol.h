/* SPDX-License-Identifier: Apache-2.0 */
/* The names that a JVM keeps: each once, as a Symbol, which classes refer to by their constant pools. */
#ifndef LANG_HOTSPOT_SYMBOL_H
#define LANG_HOTSPOT_SYMBOL_H

#include "base/types.h"

struct memory;
struct vm;

#define SYMBOL_MAX 1024		/* bytes of a name; longer ones are cut */

void symbol_read(const struct vm *vm, struct memory *memory, u64 symbol, char to[SYMBOL_MAX]);

/* The one at an index of a constant pool; "" if there is none. */
void symbol_of_pool(const struct vm *vm, struct memory *memory, u64 pool, u32 index, char to[SYMBOL_MAX]);

/* Of a class, as the JVM has it: java/lang/Object. */
void symbol_of_class(const struct vm *vm, struct memory *memory, u64 klass, char to[SYMBOL_MAX]);

#endif
