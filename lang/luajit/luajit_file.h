/* SPDX-License-Identifier: Apache-2.0 */
/* What a file tells of the LuaJIT in it: the facts of a struct lang_file. */
#ifndef LANG_LUAJIT_FILE_H
#define LANG_LUAJIT_FILE_H

#include "exe/lang_file.h"

struct luajit_facts {
	u64 has_loop;		/* the interpreter is marked, and is one that we know */
	u64 running, number, traces;	/* as in struct luajit_slot; 0: not found */
};
_Static_assert(sizeof(struct luajit_facts) <= LANG_FACTS_MAX * sizeof(u64), "fits the facts");

extern const struct lang_file_ops luajit_file_ops;

#endif
