/* SPDX-License-Identifier: Apache-2.0 */
/* What a generated script was made of, where a source map tells: the original's names, files and lines. */
#ifndef LANG_V8_SOURCES_H
#define LANG_V8_SOURCES_H

#include "base/types.h"
#include "lang/lang.h"
#include "lang/v8/script.h"

struct heap;

/*
 * Puts the original's name, file and line in the place of those of a function's place in its script, as far as they are
 * known; start is where the function starts there, or less than 0.
 */
void sources_origin(struct heap *heap, u64 script, struct script_place place, s32 start, char name[LANG_TEXT_MAX],
		    char file[LANG_TEXT_MAX], u32 *line);

/*
 * The path of a source, as a map names it that is at a URL, relative to a script: what is relative becomes absolute,
 * other URLs stay what they are, without the "/./" of webpack's.
 */
void sources_path(const char *script, const char *url, const char *source, char path[LANG_TEXT_MAX]);

/* A script's path of its name, which is a URL where it is a module. */
void sources_script_path(const char *name, char path[LANG_TEXT_MAX]);

#endif
