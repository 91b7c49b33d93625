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

#define TLS_WANTED_MAX 4
#define TLS_NAME_BYTES 128	/* of a name, with its NUL */

/* Variables that are looked for, by name: the words of a request. */
struct tls_wanted {
	u64 count;
	char name[TLS_WANTED_MAX][TLS_NAME_BYTES];
};
_Static_assert(sizeof(struct tls_wanted) % sizeof(u64) == 0, "words");

enum tls_access {
	TLS_NONE,		/* the file has no such variable */
	TLS_PROGRAM,		/* it is the program's: at `offset` from the thread pointer */
	TLS_OFFSET,		/* the word at slot_ea, with `offset` added, is its distance from the thread pointer */
	TLS_DESCRIPTOR,		/* the second word at slot_ea is that, or the address of { module, offset }; likewise */
	TLS_MODULE,		/* the word at slot_ea is the module's number; `offset` counts in its block */
};

struct tls_variable {
	u64 access;		/* enum tls_access */
	u64 offset, slot_ea;
	u64 bytes;		/* how large it is, as its symbol says; 0: it does not */
};

/*
 * Those of count names, at most TLS_WANTED_MAX, that the file exports, or has at all if it exports nothing. TLS_NONE
 * where there is none that can be found.
 */
void tls_variables_exported(const struct exe *exe, const char *const *names, u32 count,
			    struct tls_variable *ret_variables);

/* Those that are wanted, exported or not: TLS_NONE where there is none. How many are found; -EBADMSG. */
int tls_variables_find(const struct exe *exe, const struct tls_wanted *wanted,
		       struct tls_variable ret_variables[TLS_WANTED_MAX]);

#endif
