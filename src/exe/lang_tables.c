// SPDX-License-Identifier: Apache-2.0
#include "exe/lang_tables.h"

#include <errno.h>

#include "exe/elf.h"

int lang_tables_open(const struct exe *exe, struct lang_tables *ret_tables)
{
	for (u32 lang = 1; exe->langs && lang < LANG_NUMBERS_MAX; lang++) {
		struct lang_tables tables = { .ops = exe->langs[lang] ? exe->langs[lang]->tables : NULL, .lang = lang };
		int r = tables.ops ? tables.ops->open(exe, &tables.state) : -ENODATA;

		if (r == -ENODATA)
			continue;
		if (r == 0)
			*ret_tables = tables;
		return r;
	}
	return -ENODATA;
}

void lang_tables_done(struct lang_tables *tables)
{
	if (tables->ops)
		tables->ops->close(tables->state);
	*tables = (struct lang_tables){ 0 };
}
