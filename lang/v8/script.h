/* SPDX-License-Identifier: Apache-2.0 */
/* A Script: the text that functions were compiled from. */
#ifndef LANG_V8_SCRIPT_H
#define LANG_V8_SCRIPT_H

#include "base/types.h"
#include "lang/lang.h"

struct heap;

/* In its text; both count from 0. */
struct script_place {
	u32 line, column;
};

struct script_place script_place(struct heap *heap, u64 script, s32 position);

/* The line that its text starts in, of scripts inside of others. */
u32 script_first_line(struct heap *heap, u64 script);

/* What it is called, "" if it has no name. */
void script_path(struct heap *heap, u64 script, char path[LANG_TEXT_MAX]);

#endif
