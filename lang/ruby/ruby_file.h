/* SPDX-License-Identifier: Apache-2.0 */
/* What a file tells of the Ruby in it: the facts of a struct lang_file. */
#ifndef LANG_RUBY_FILE_H
#define LANG_RUBY_FILE_H

#include "exe/lang_file.h"
#include "lang/ruby/ruby_layout.h"

/* How code of the file finds the thread's execution context. */
enum ruby_access {
	RUBY_ACCESS_NONE,
	RUBY_ACCESS_GLOBAL,	/* -2.7: it is in the variable at `at` */
	RUBY_ACCESS_OFFSET,	/* it is `at` bytes from the thread pointer */
	RUBY_ACCESS_WORD,	/* ... so many as the word at `at` says */
	RUBY_ACCESS_PAIR,	/* the words at `at` are the module's number, and where in its block it is */
};

struct ruby_facts {
	u64 version;		/* RUBY_VERSION() */
	u64 access;		/* enum ruby_access */
	u64 access_at;
	u64 object_ea;		/* rb_cObject */
	struct lang_mark exec[2], core[2];	/* rb_vm_exec(), vm_exec_core(), with their .cold parts */
	struct lang_mark text, data;		/* all code; all variables */
};
_Static_assert(sizeof(struct ruby_facts) <= LANG_FACTS_MAX * sizeof(u64), "fits the facts");

extern const struct lang_file_ops ruby_file_ops;

#endif
