/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Go's own tables (lang/go/pclntab.h) give to the rest of wick: unwind rows, function names, lines. Runs in the
 * reader process.
 */
#ifndef LANG_GO_GO_TABLES_H
#define LANG_GO_GO_TABLES_H

#include "exe/lang_file.h"

extern const struct lang_tables_ops go_tables_ops;

/* struct lang_tables_ops: functions() and rows() (go_rows.c). */
void go_rows_functions(const void *tables, struct functions *ret_functions);
void go_rows_tell(const void *tables, u32 number, void (*row)(void *arg, u64 ea, const struct unwind_rule *rule),
		  void *arg);

#endif
