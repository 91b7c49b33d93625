// SPDX-License-Identifier: Apache-2.0
#include "exe/line_table.h"

#include <dwarf.h>
#include <errno.h>

#include "base/buf.h"
#include "test.h"

/* Line programs made by hand: the header, then opcodes. */
struct program {
	struct buf b;
	u32 header;	/* where its length stands */
};

static void put(struct program *p, u64 value, u32 bytes)
{
	buf_add(&p->b, &value, bytes);
}

static void begin(struct program *p, u16 version)
{
	static const u8 operands[] = { 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1 };

	buf_init(&p->b, 4096);
	put(p, 0, 4);
	put(p, version, 2);
	if (version >= 5)
		put(p, 8, 2);
	p->header = p->b.len;
	put(p, 0, 4);
	put(p, 1, 1); /* bytes of an instruction */
	if (version >= 4)
		put(p, 1, 1);
	put(p, 1, 1);
	put(p, (u8)-5, 1); /* line base */
	put(p, 14, 1);	   /* line range */
	put(p, 13, 1);	   /* opcode base */
	buf_add(&p->b, operands, sizeof(operands));
}

/* Ends the header. */
static void begin_code(struct program *p)
{
	u32 bytes = p->b.len - p->header - 4;

	memcpy(p->b.data + p->header, &bytes, 4);
}

static void set_address(struct program *p, u64 ea)
{
	put(p, 0, 1);
	put(p, 9, 1);
	put(p, DW_LNE_set_address, 1);
	put(p, ea, 8);
}

/* A special opcode: a row that many bytes and lines on. */
static void row(struct program *p, u32 bytes, int lines)
{
	put(p, 13 + (lines + 5) + 14 * bytes, 1);
}

static void end_sequence(struct program *p, u8 bytes)
{
	put(p, DW_LNS_advance_pc, 1);
	put(p, bytes, 1);
	put(p, 0x010100, 3);
}

static struct line_sections finish(struct program *p)
{
	u32 bytes = p->b.len - 4;

	EQ(buf_err(&p->b), 0);
	memcpy(p->b.data, &bytes, 4);
	return (struct line_sections){ .line = { (const u8 *)p->b.data, p->b.len } };
}

/* Sequences at 0x1000 (lines 10, 12 in file 1, then line 7 in file 2) and, thrown away by the linker, at 0. */
static void add_code(struct program *p)
{
	set_address(p, 0x1000);
	put(p, DW_LNS_advance_line, 1);
	put(p, 9, 1);
	put(p, DW_LNS_set_column, 1);
	put(p, 3, 1);
	row(p, 0, 0);
	row(p, 8, 2);
	put(p, DW_LNS_set_file, 1);
	put(p, 2, 1);
	row(p, 4, -5);
	end_sequence(p, 4);
	set_address(p, 0);
	put(p, DW_LNS_copy, 1);
	put(p, DW_LNS_const_add_pc, 1);
	put(p, DW_LNS_fixed_advance_pc, 1);
	put(p, 0x2000, 2);
	end_sequence(p, 0);
}

static void check_code(const struct line_table *table)
{
	struct line_wanted wanted[] = { { .ea = 0xfff }, { .ea = 0x1000 }, { .ea = 0x1007 }, { .ea = 0x1008 },
					{ .ea = 0x100c }, { .ea = 0x100f }, { .ea = 0x1010 }, { .ea = 0x3000 } };

	line_table_find(table, wanted, 8);
	EQ(wanted[0].line, 1);
	EQ(wanted[1].line, 10);
	EQ(wanted[1].column, 3);
	EQ(wanted[1].file, 1);
	EQ(wanted[2].line, 10);
	EQ(wanted[3].line, 12);
	EQ(wanted[4].line, 7);
	EQ(wanted[4].file, 2);
	EQ(wanted[5].line, 7);
	EQ(wanted[6].line, 1); /* only the other sequence reaches here */
	OK(!wanted[7].found);
}

TEST(line_table_runs_dwarf_4)
{
	struct line_sections sections;
	struct line_table table;
	struct program p;
	const char *directory = NULL, *name = NULL;

	begin(&p, 4);
	buf_add(&p.b, "/include\0\0a.c\0\0\0\0b.h\0\1\0\0", 25);
	begin_code(&p);
	add_code(&p);
	sections = finish(&p);
	EQ(line_table_open(&table, &sections, 0), 0);
	check_code(&table);
	OK(line_table_file(&table, 1, &directory, &name));
	STREQ(directory, "");
	STREQ(name, "a.c");
	OK(line_table_file(&table, 2, &directory, &name));
	STREQ(directory, "/include");
	STREQ(name, "b.h");
	OK(!line_table_file(&table, 0, &directory, &name));
	OK(!line_table_file(&table, 3, &directory, &name));
	buf_done(&p.b);
}

TEST(line_table_runs_dwarf_5)
{
	static const u8 lists[] = {
		1, DW_LNCT_path, DW_FORM_line_strp, 2, 1, 0, 0, 0, 6, 0, 0, 0,
		2, DW_LNCT_path, DW_FORM_string, DW_LNCT_directory_index, DW_FORM_udata, 3,
		'a', 0, 0, 'a', 0, 0, 'b', 0, 1,
	};
	struct line_sections sections;
	struct line_table table;
	struct program p;
	const char *directory = NULL, *name = NULL;

	begin(&p, 5);
	buf_add(&p.b, lists, sizeof(lists));
	begin_code(&p);
	add_code(&p);
	sections = finish(&p);
	sections.line_str = (struct line_section){ (const u8 *)"\0/src\0include", 14 };
	EQ(line_table_open(&table, &sections, 0), 0);
	check_code(&table);
	OK(line_table_file(&table, 0, &directory, &name));
	STREQ(directory, "/src");
	STREQ(name, "a");
	OK(line_table_file(&table, 2, &directory, &name));
	STREQ(directory, "include");
	STREQ(name, "b");
	OK(!line_table_file(&table, 3, &directory, &name));
	buf_done(&p.b);
}

TEST(line_table_refuses_what_is_cut_off)
{
	struct line_sections sections;
	struct line_table table;
	struct program p;

	begin(&p, 4);
	buf_add(&p.b, "\0a.c\0\0\0\0", 9);
	begin_code(&p);
	add_code(&p);
	sections = finish(&p);
	EQ(line_table_open(&table, &sections, sections.line.bytes), -EBADMSG);
	for (size_t bytes = 0; bytes < sections.line.bytes; bytes++) {
		struct line_sections cut = { .line = { sections.line.at, bytes } };

		OK(line_table_open(&table, &cut, 0) < 0);
	}
	p.b.data[4] = 9;
	EQ(line_table_open(&table, &sections, 0), -ENOTSUP);
	buf_done(&p.b);
}

TEST(line_table_does_not_divide_by_zero)
{
	struct line_sections sections;
	struct line_table table;
	struct program p;

	begin(&p, 4);
	p.b.data[p.header + 4 + 4] = 0; /* line range */
	buf_add(&p.b, "\0", 2);
	begin_code(&p);
	add_code(&p);
	sections = finish(&p);
	EQ(line_table_open(&table, &sections, 0), -EBADMSG);
	buf_done(&p.b);
}
