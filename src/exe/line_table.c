// SPDX-License-Identifier: Apache-2.0
#include "exe/line_table.h"

#include <errno.h>
#include <string.h>

#include <dwarf.h>

#define VERSION_MIN 2
#define VERSION_MAX 5

/* A directory or a file, as listed. */
struct entry {
	const char *name;
	u64 directory;
};

/* A string of another section, "" if it does not end there. */
static const char *string_at(const struct line_section *section, u64 offset)
{
	struct cursor c;

	if (offset >= section->bytes)
		return "";
	c = cursor_of(section->at + offset, section->bytes - offset);
	return cursor_string(&c);
}

/* Reads one field of an entry. Forms that need other sections of the unit (strx) are not used here by anyone. */
static void read_form(const struct line_table *table, struct cursor *c, u64 form, const char **ret_text,
		      u64 *ret_number)
{
	switch (form) {
	case DW_FORM_string:
		*ret_text = cursor_string(c);
		return;
	case DW_FORM_line_strp:
		*ret_text = string_at(&table->sections->line_str, cursor_uint(c, table->offset_bytes));
		return;
	case DW_FORM_strp:
		*ret_text = string_at(&table->sections->str, cursor_uint(c, table->offset_bytes));
		return;
	case DW_FORM_udata:
		*ret_number = cursor_uleb(c);
		return;
	case DW_FORM_data1:
		*ret_number = cursor_u8(c);
		return;
	case DW_FORM_data2:
		*ret_number = cursor_uint(c, 2);
		return;
	case DW_FORM_data4:
		*ret_number = cursor_uint(c, 4);
		return;
	case DW_FORM_data8:
		*ret_number = cursor_uint(c, 8);
		return;
	case DW_FORM_data16:
		cursor_skip(c, 16);
		return;
	case DW_FORM_block:
		cursor_skip(c, cursor_uleb(c));
		return;
	case DW_FORM_strp_sup:
	case DW_FORM_GNU_strp_alt:
		cursor_skip(c, table->offset_bytes);
		return;
	default:
		c->bad = true;
	}
}

static void read_entry(const struct line_table *table, const struct line_list *list, struct cursor *c,
		       struct entry *ret_entry)
{
	*ret_entry = (struct entry){ "", 0 };
	for (u32 i = 0; i < list->format_count; i++) {
		const char *text = "";
		u64 number = 0;

		read_form(table, c, list->format[i].form, &text, &number);
		if (list->format[i].content == DW_LNCT_path)
			ret_entry->name = text;
		else if (list->format[i].content == DW_LNCT_directory_index)
			ret_entry->directory = number;
	}
}

/* DWARF 5: the format of entries, their count, the entries. */
static void read_list(const struct line_table *table, struct cursor *c, struct line_list *ret_list)
{
	struct entry entry;
	u32 format_count = cursor_u8(c);

	if (format_count > LINE_FORMATS_MAX) {
		c->bad = true;
		return;
	}
	for (u32 i = 0; i < format_count; i++) {
		ret_list->format[i].content = cursor_uleb(c);
		ret_list->format[i].form = cursor_uleb(c);
	}
	ret_list->format_count = format_count;
	ret_list->count = format_count ? cursor_uleb(c) : (cursor_uleb(c), 0);
	ret_list->entries = *c;
	for (u64 i = 0; i < ret_list->count && !c->bad; i++) {
		const u8 *before = c->at;

		read_entry(table, ret_list, c, &entry);
		/* Entries without bytes could be as many as they like. */
		c->bad |= c->at == before;
	}
}

/* Before: lists that end by an empty name. A directory is its name, a file three numbers more. */
static void read_old_list(struct cursor *c, u32 numbers, struct line_list *ret_list)
{
	ret_list->entries = *c;
	while (!c->bad && *cursor_string(c)) {
		for (u32 i = 0; i < numbers; i++)
			(void)cursor_uleb(c);
		ret_list->count++;
	}
}

static void read_lists(struct line_table *table, struct cursor *c)
{
	if (table->version >= 5) {
		read_list(table, c, &table->directories);
		read_list(table, c, &table->files);
	} else {
		read_old_list(c, 0, &table->directories);
		read_old_list(c, 3, &table->files);
	}
}

/* The fields between the header's length and its lists. */
static void read_fields(struct line_table *table, struct cursor *c)
{
	table->instruction_bytes = cursor_u8(c);
	if (table->version >= 4)
		(void)cursor_u8(c);	/* operations per instruction: more than one on VLIW machines only */
	(void)cursor_u8(c);		/* default of is_stmt */
	table->line_base = (s8)cursor_u8(c);
	table->line_range = cursor_u8(c);
	table->opcode_base = cursor_u8(c);
	table->operand_counts = cursor_skip(c, table->opcode_base ? table->opcode_base - 1 : 0);
	c->bad |= !table->line_range || !table->opcode_base;
}

int line_table_open(struct line_table *table, const struct line_sections *sections, u64 offset)
{
	struct cursor c, header;
	u64 bytes;

	*table = (struct line_table){ .sections = sections, .offset_bytes = 4 };
	if (offset >= sections->line.bytes)
		return -EBADMSG;
	c = cursor_of(sections->line.at + offset, sections->line.bytes - offset);
	bytes = cursor_uint(&c, 4);
	if (bytes == UINT32_MAX) {
		table->offset_bytes = 8;
		bytes = cursor_uint(&c, 8);
	}
	if (bytes > cursor_left(&c))
		return -EBADMSG;
	c.end = c.at + bytes;
	table->version = cursor_uint(&c, 2);
	if (table->version < VERSION_MIN || table->version > VERSION_MAX)
		return -ENOTSUP;
	if (table->version >= 5)
		cursor_skip(&c, 2);	/* sizes of addresses and of segment selectors */
	bytes = cursor_uint(&c, table->offset_bytes);
	if (c.bad || bytes > cursor_left(&c))
		return -EBADMSG;
	header = c;
	header.end = c.at + bytes;
	table->program = (struct cursor){ header.end, c.end, false };
	read_fields(table, &header);
	read_lists(table, &header);
	return header.bad ? -EBADMSG : 0;
}

/* The n-th entry of a list, from 0. */
static bool list_get(const struct line_table *table, const struct line_list *list, u64 n, u32 old_numbers,
		     struct entry *ret_entry)
{
	struct cursor c = list->entries;

	if (n >= list->count)
		return false;
	for (u64 i = 0; i <= n; i++) {
		if (table->version >= 5) {
			read_entry(table, list, &c, ret_entry);
			continue;
		}
		ret_entry->name = cursor_string(&c);
		ret_entry->directory = old_numbers ? cursor_uleb(&c) : 0;
		for (u32 k = 1; k < old_numbers; k++)
			(void)cursor_uleb(&c);
	}
	return !c.bad;
}

bool line_table_file(const struct line_table *table, u64 number, const char **ret_directory, const char **ret_name)
{
	bool is_old = table->version < 5;	/* counts from 1, directory 0 is the unit's */
	struct entry file, directory = { "", 0 };

	if (is_old && !number)
		return false;
	if (!list_get(table, &table->files, number - is_old, 3, &file))
		return false;
	if (!is_old || file.directory)
		(void)list_get(table, &table->directories, file.directory - is_old, 0, &directory);
	*ret_directory = directory.name;
	*ret_name = file.name;
	return *file.name;
}

/* The state machine that a program drives. */
struct machine {
	u64 ea, sequence_ea;
	u64 file, line, column;	/* line wraps where it is made to sink below 0 */
	bool in_sequence;	/* last is valid */
	struct line_wanted last;	/* the row before */
};

static void start_sequence(struct machine *m)
{
	*m = (struct machine){ .file = 1, .line = 1 };
}

static u32 clamp_u32(u64 value)
{
	return value > UINT32_MAX ? 0 : value;
}

/* The first wanted address at or above. */
static u32 first_from(const struct line_wanted *wanted, u32 count, u64 ea)
{
	u32 low = 0, high = count;

	while (low < high) {
		u32 middle = low + (high - low) / 2;

		if (wanted[middle].ea < ea)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* A row: the one before it holds up to here. Code that the linker threw away seems to start at 0: later starts win. */
static void emit_row(struct machine *m, struct line_wanted *wanted, u32 count)
{
	if (!m->in_sequence)
		m->sequence_ea = m->ea;
	for (u32 i = m->in_sequence ? first_from(wanted, count, m->last.ea) : count;
	     i < count && wanted[i].ea < m->ea; i++) {
		u64 ea = wanted[i].ea;

		if (wanted[i].found && wanted[i].sequence_ea > m->sequence_ea)
			continue;
		wanted[i] = m->last;
		wanted[i].ea = ea;
	}
	m->last = (struct line_wanted){ m->ea, m->sequence_ea, clamp_u32(m->file), clamp_u32(m->line),
					clamp_u32(m->column), true };
	m->in_sequence = true;
}

/* True at the end of a sequence. */
static bool run_extended(struct cursor *c, struct machine *m)
{
	u64 bytes = cursor_uleb(c);
	const u8 *at = cursor_skip(c, bytes);
	struct cursor operands;

	if (!at || !bytes)
		return false;
	operands = cursor_of(at + 1, bytes - 1);
	if (*at == DW_LNE_set_address && bytes > 1 && bytes <= 9)
		m->ea = cursor_uint(&operands, bytes - 1);
	return *at == DW_LNE_end_sequence;
}

/* All but DW_LNS_copy. */
static void run_standard(const struct line_table *table, struct cursor *c, struct machine *m, u8 opcode)
{
	switch (opcode) {
	case DW_LNS_advance_pc:
		m->ea += cursor_uleb(c) * table->instruction_bytes;
		return;
	case DW_LNS_advance_line:
		m->line += cursor_sleb(c);
		return;
	case DW_LNS_set_file:
		m->file = cursor_uleb(c);
		return;
	case DW_LNS_set_column:
		m->column = cursor_uleb(c);
		return;
	case DW_LNS_const_add_pc:
		m->ea += (255 - table->opcode_base) / table->line_range * table->instruction_bytes;
		return;
	case DW_LNS_fixed_advance_pc:
		m->ea += cursor_uint(c, 2);
		return;
	default:
		for (u8 i = table->operand_counts[opcode - 1]; i; i--)
			(void)cursor_uleb(c);
	}
}

void line_table_find(const struct line_table *table, struct line_wanted *wanted, u32 count)
{
	struct cursor c = table->program;
	struct machine m;

	start_sequence(&m);
	while (cursor_left(&c) && !c.bad) {
		u8 opcode = cursor_u8(&c);

		if (opcode >= table->opcode_base) {
			u8 special = opcode - table->opcode_base;

			m.ea += special / table->line_range * table->instruction_bytes;
			m.line += table->line_base + special % table->line_range;
			emit_row(&m, wanted, count);
		} else if (opcode == DW_LNS_copy) {
			emit_row(&m, wanted, count);
		} else if (opcode) {
			run_standard(table, &c, &m, opcode);
		} else if (run_extended(&c, &m)) {
			emit_row(&m, wanted, count);
			start_sequence(&m);
		}
	}
}
