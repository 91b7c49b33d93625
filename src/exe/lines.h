/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source lines of addresses in one ELF file: for each the chain of functions
 * that were inlined there, the innermost first; the last is the function that
 * has code of its own. A flat block of bytes:
 *
 *	struct exe_lines | u32 first[address_count + 1] | struct exe_line[line_count] | char strings[strings_bytes]
 *
 * The chain of address i is line[first[i]] to line[first[i + 1] - 1]. It is
 * empty where DWARF says nothing.
 */
#ifndef EXE_LINES_H
#define EXE_LINES_H

#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/interner.h"
#include "base/types.h"

#define LINES_MAGIC "wicklin2"
#define LINES_MAX 256		/* addresses to ask for at once */
#define LINES_DEPTH_MAX 64	/* functions in a chain; outer ones beyond it are left out, the outermost never */

struct exe_line {
	u32 function;		/* offset into strings: its linkage (mangled) name if it has one; 0: the symbol's */
	u32 file;		/* offset into strings, 0 = "" if unknown */
	u32 line;		/* 0 if unknown */
	u32 column;		/* 0 if unknown */
	u32 start_line;		/* where the function is declared; 0 if unknown */
};

struct exe_lines {
	char magic[8];
	u32 bytes;
	u32 address_count;
	u32 line_count;
	u32 strings_bytes;
	u32 truncated;		/* so many of the last addresses were not looked at: time ran out; ask again */
	u32 pad;
};

static inline const u32 *exe_lines_first(const struct exe_lines *lines)
{
	return (const void *)(lines + 1);
}

static inline const struct exe_line *exe_lines_array(const struct exe_lines *lines)
{
	return (const void *)(exe_lines_first(lines) + lines->address_count + 1);
}

static inline const char *exe_lines_strings(const struct exe_lines *lines)
{
	return (const void *)(exe_lines_array(lines) + lines->line_count);
}

/* 0 if the block is well formed, else -EBADMSG. */
int exe_lines_check(const struct exe_lines *lines, size_t bytes);

/* Makes such a block: for each address its lines, then lines_next(). Errors stick until lines_finish(). */
struct lines_builder {
	struct buf first, array, strings, offsets;
	struct arena arena;
	struct interner names;
	u32 address_count, line_count;
};

void lines_init(struct lines_builder *builder);
void lines_done(struct lines_builder *builder);
void lines_add(struct lines_builder *builder, const char *function, const char *file, u32 line, u32 column,
	       u32 start_line);
void lines_next(struct lines_builder *builder);
int lines_finish(struct lines_builder *builder, u32 truncated, struct exe_lines **ret_lines);

#endif
