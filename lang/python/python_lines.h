/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Line numbers of instructions, from the tables that code objects carry. They
 * changed with each of
 *
 *	-3.9	co_lnotab: (bytes of code, lines) pairs, the line a signed byte
 *	3.10	co_linetable: the same, but each pair is a stretch of code with its line (PEP 626)
 *	3.11-	co_linetable: entries of variable size, with columns (Objects/locations.md)
 */
#ifndef LANG_PYTHON_LINES_H
#define LANG_PYTHON_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "base/types.h"

/*
 * The line of an instruction, counted in pairs of bytes, in a function that begins at first_line; first_line if the
 * table does not tell.
 */
u32 python_line(u32 version, const u8 *table, size_t bytes, u32 first_line, u32 instruction);

#endif
