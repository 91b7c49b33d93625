/* SPDX-License-Identifier: Apache-2.0 */
/* What a file tells of the Perl in it: the facts of a struct lang_file. */
#ifndef LANG_PERL_FILE_H
#define LANG_PERL_FILE_H

#include "exe/lang_file.h"
#include "lang/perl/perl_layout.h"

struct perl_facts {
	u64 version;		/* PERL_VERSION() */
	u64 current_ea;		/* PL_curinterp: the interpreter that was begun last */
	u64 key_ea;		/* PL_thr_key, where there are threads; 0: there are none, and ... */
	u64 op_ea, cop_ea, info_ea;	/* ... PL_op, PL_curcop, PL_curstackinfo */
	struct lang_mark callers[2];	/* call_sv(), eval_sv() */
	struct lang_mark text;	/* all code */
	u64 has_loop;		/* its loop is marked */
};
_Static_assert(sizeof(struct perl_facts) <= LANG_FACTS_MAX * sizeof(u64), "fits the facts");

extern const struct lang_file_ops perl_file_ops;

#endif
