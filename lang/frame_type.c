// SPDX-License-Identifier: Apache-2.0
#include "lang/frame_type.h"

#include <stddef.h>

#include "lang/lang.h"

static const struct frame_type others[] = {
	{ "", "Other", 0xcdb79e, "grey" },
	{ "native", "Native", 0xf2b84b, "yellow" },
	{ "kernel", "Kernel", 0xe8590c, "orange" },
	{ "process", "Process", 0xc6a5e0, "grey" },
	{ "label", "Group", 0xc7ade0, "grey" },
};
#define OTHERS (sizeof(others) / sizeof(*others))

const struct frame_type *frame_type_at(u32 number)
{
	u32 at = number - OTHERS;

	if (number < OTHERS)
		return &others[number];
	for (u32 lang = 1; lang < LANG_MAX; lang++)
		if (lang_list[lang] && lang_list[lang]->look.title && !at--)
			return &lang_list[lang]->look;
	return NULL;
}

u32 frame_type_find(struct str type)
{
	u32 number = 0;

	for (; number < OTHERS; number++)
		if (str_is(type, others[number].type))
			return number;
	for (u32 lang = 1; lang < LANG_MAX; lang++) {
		if (!lang_list[lang] || !lang_list[lang]->look.title)
			continue;
		if (str_is(type, lang_list[lang]->look.type))
			return number;
		number++;
	}
	return 0;
}
