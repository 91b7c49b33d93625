/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables that a language left in a file (struct lang_tables_ops), whichever language it is. Opened for each
 * request: they are read where they lie, nothing is copied.
 */
#ifndef EXE_LANG_TABLES_H
#define EXE_LANG_TABLES_H

#include "exe/lang_file.h"

struct lang_tables {
	const struct lang_tables_ops *ops;	/* NULL: there are none */
	void *state;
	u32 lang;				/* enum lang */
};

/* 0, -ENODATA if the file has none, or -ENOMEM. Asks the languages of the file, as lang_file_find(). */
int lang_tables_open(const struct exe *exe, struct lang_tables *ret_tables);
void lang_tables_done(struct lang_tables *tables);

#endif
