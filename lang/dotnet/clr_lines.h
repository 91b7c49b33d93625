/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files and lines of methods, by the PDB that was made with their module: asked for as source maps are (lang/lang.h),
 * and believed only if it has the module's id.
 */
#ifndef LANG_DOTNET_CLR_LINES_H
#define LANG_DOTNET_CLR_LINES_H

#include "base/types.h"

struct clr_file;
struct lang_process;

/* The line, from 1 on, and its file, borrowed until the next call; 0 if it is not known (yet). */
u32 clr_lines_find(const struct lang_process *process, const struct clr_file *file, u32 method, u32 il,
		   const char **ret_path);

#endif
