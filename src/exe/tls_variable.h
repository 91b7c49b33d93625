/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A variable that each thread of a process has for itself, by its name: where the code of its file finds it. For the
 * program itself that is a number; what a library has, the dynamic linker decides in each process, and writes it into a
 * place that the file names in a relocation.
 *
 * Runs in the reader process; no state.
 */
#ifndef EXE_TLS_VARIABLE_H
#define EXE_TLS_VARIABLE_H

#include "base/types.h"

struct exe;

enum tls_access {
	TLS_NONE,		/* the file has no such variable */
	TLS_PROGRAM,		/* it is the program's: at `offset` from the thread pointer */
	TLS_OFFSET,		/* the word at slot_ea is its distance from the thread pointer */
	TLS_DESCRIPTOR,		/* the second word at slot_ea is that, or the address of { module, offset } */
	TLS_MODULE,		/* the word at slot_ea is the module's number; `offset` counts in its block */
};

struct tls_variable {
	u64 access;		/* enum tls_access */
	u64 offset, slot_ea;
};

/* Fills in TLS_NONE where there is none that can be found. */
void tls_variable_find(const struct exe *exe, const char *name, struct tls_variable *ret_variable);

#endif
