/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The addresses of code that the data of an x86-64 file points to: tables of
 * functions, constructors, methods. Some are labels that a computed goto jumps
 * to. In programs at a fixed address they are words of data that can be
 * written; in others, which the loader puts somewhere, the addends of its
 * relocations. Sorted, and each once.
 */
#ifndef EXE_CODE_POINTERS_H
#define EXE_CODE_POINTERS_H

#include "base/types.h"

struct exe;

#define CODE_POINTERS_MAX (1u << 20)

struct code_pointers {
	u64 start_ea, end_ea;
	u64 *at;
	u32 count, cap;
};

/* Those to code between two addresses: as many as there is memory for, up to the maximum. */
void code_pointers_find(const struct exe *exe, u64 start_ea, u64 end_ea, struct code_pointers *ret_pointers);
void code_pointers_done(struct code_pointers *pointers);

/* Index of the first that is not below ea. */
u32 code_pointers_from(const struct code_pointers *pointers, u64 ea);

#endif
