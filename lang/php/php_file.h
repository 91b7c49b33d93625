/* SPDX-License-Identifier: Apache-2.0 */
/* What a file tells of the PHP in it: the facts of a struct lang_file. */
#ifndef LANG_PHP_FILE_H
#define LANG_PHP_FILE_H

#include "exe/lang_file.h"

#define PHP_VERSION(major, minor) ((major) << 8 | (minor))

/* Where PHP keeps what, by version, from the headers that each installs (zend_globals.h, zend_compile.h); in bytes. */
struct php_layout {
	u64 current;		/* in the executor's globals: the frame that runs */
	u64 file, opcodes;	/* in a function: the name of its file, its first instruction */
};

/* NULL if it is none that we know. */
const struct php_layout *php_layout_of(u32 version);

struct php_facts {
	u64 version;		/* PHP_VERSION() */
	u64 globals_ea;		/* executor_globals; 0: each thread has its own */
	struct lang_mark loop[2];	/* execute_ex(), with its .cold part */
	struct lang_mark caller;	/* zend_call_function() */
	struct lang_mark text;	/* all code */
	u64 frame_bytes, fp_below;	/* of execute_ex(): struct php_slot */
};
_Static_assert(sizeof(struct php_facts) <= LANG_FACTS_MAX * sizeof(u64), "fits the facts");

extern const struct lang_file_ops php_file_ops;

#endif
