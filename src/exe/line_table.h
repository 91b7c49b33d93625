/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The line number program of one unit (.debug_line, DWARF 2 to 5): which
 * source line the code at an address comes from. It is run for some addresses
 * at once and nothing is kept; libdw keeps every row of every unit it was
 * asked about, 48 bytes each.
 *
 * Its input is hostile; work is bounded by the length of the program.
 */
#ifndef EXE_LINE_TABLE_H
#define EXE_LINE_TABLE_H

#include "base/cursor.h"
#include "base/types.h"

#define LINE_FORMATS_MAX 16

struct line_section {
	const u8 *at;
	size_t bytes;
};

/* What a program and the strings it names lie in. */
struct line_sections {
	struct line_section line, line_str, str;
};

/* How directories or files are listed, from DWARF 5 on. */
struct line_list {
	struct cursor entries;
	u64 count;
	u32 format_count;
	struct {
		u64 content, form;
	} format[LINE_FORMATS_MAX];
};

struct line_table {
	const struct line_sections *sections;
	u16 version;
	u8 offset_bytes;	/* 4, or 8 in 64-bit DWARF */
	u8 instruction_bytes;
	s8 line_base;
	u8 line_range;
	u8 opcode_base;
	const u8 *operand_counts;	/* of standard opcodes, from 1 on */
	struct line_list directories, files;
	struct cursor program;
};

/* An address and, once found, its row; line is 0 where there is none. */
struct line_wanted {
	u64 ea;
	u64 sequence_ea;	/* where the sequence that the row is in starts */
	u32 file, line, column;
	bool found;
};

/* Reads the header of the program at an offset of .debug_line. -EBADMSG, or -ENOTSUP for an unknown version. */
int line_table_open(struct line_table *table, const struct line_sections *sections, u64 offset);

/* Finds the rows of addresses, which must ascend. */
void line_table_find(const struct line_table *table, struct line_wanted *wanted, u32 count);

/* The name of a file by its number, and its directory, "" for that of the unit. False if there is none. */
bool line_table_file(const struct line_table *table, u64 number, const char **ret_directory, const char **ret_name);

#endif
