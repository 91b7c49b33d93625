/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Types of frames, as the semantic conventions have them (profile.frame.type), and how they look. That of a language
 * is in its lang_ops; this adds those of no language, and of languages that others read and wick does not yet.
 *
 * All of it is constant; any thread.
 */
#ifndef LANG_FRAME_TYPE_H
#define LANG_FRAME_TYPE_H

#include "base/str.h"
#include "base/types.h"

struct frame_type {
	const char *type;	/* cpython, v8js, jvm, go, native, kernel ... */
	const char *title;	/* what people call it: Python */
	u32 colour;		/* 0xRRGGBB, light enough for dark text */
	const char *firefox;	/* the closest of the colours that Firefox's profiler knows */
};

/* Each of them once, by number from 0 on; NULL after the last. The first is that of all that is not known. */
const struct frame_type *frame_type_at(u32 number);

/* The number of a type; 0: not known. */
u32 frame_type_find(struct str type);

#endif
