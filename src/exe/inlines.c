// SPDX-License-Identifier: Apache-2.0
#include "exe/inlines.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <dwarf.h>
#include <elfutils/libdw.h>

#include "base/clock.h"
#include "exe/dwarf_files.h"
#include "exe/dwarf_index.h"
#include "exe/elf.h"
#include "exe/lang_tables.h"
#include "exe/line_table.h"
#include "exe/lines.h"

struct inlines {
	const struct lang_file_ops *const *langs;
	struct dwarf_files files;
};

/* Functions of a chain, the outermost first, as DIEs. */
struct chain {
	Dwarf_Die die[LINES_DEPTH_MAX];
	u32 depth;
};

struct inlines *inlines_new(const struct lang_file_ops *const *langs)
{
	struct inlines *inlines = calloc(1, sizeof(*inlines));

	if (!inlines)
		return NULL;
	inlines->langs = langs;
	dwarf_files_init(&inlines->files);
	return inlines;
}

void inlines_free(struct inlines *inlines)
{
	if (!inlines)
		return;
	dwarf_files_done(&inlines->files);
	free(inlines);
}

void inlines_rest(struct inlines *inlines)
{
	dwarf_files_rest(&inlines->files, monotonic_ns());
}

/* The child whose code holds the address: a block, or a function that was inlined. */
static bool child_at(Dwarf_Die *parent, u64 ea, Dwarf_Die *ret_child)
{
	Dwarf_Die child;

	if (dwarf_child(parent, &child) != 0)
		return false;
	do {
		int tag = dwarf_tag(&child);

		if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_lexical_block && tag != DW_TAG_try_block &&
		    tag != DW_TAG_catch_block)
			continue;
		if (dwarf_haspc(&child, ea) <= 0)
			continue;
		*ret_child = child;
		return true;
	} while (dwarf_siblingof(&child, &child) == 0);
	return false;
}

/* Adds the functions that were inlined into the one at the head of the chain. Blocks between them count as depth. */
static void find_inlined(struct chain *chain, u64 ea)
{
	Dwarf_Die scope = chain->die[0];

	for (u32 depth = 0; depth < 4 * LINES_DEPTH_MAX && child_at(&scope, ea, &scope); depth++) {
		if (dwarf_tag(&scope) != DW_TAG_inlined_subroutine)
			continue;
		/* Of a chain too long, the innermost and the outermost stay. */
		if (chain->depth == LINES_DEPTH_MAX)
			memmove(&chain->die[1], &chain->die[2], (--chain->depth - 1) * sizeof(chain->die[0]));
		chain->die[chain->depth++] = scope;
	}
}

static bool ends_inside(const struct dwarf_mapped *mapped, const char *text)
{
	for (int i = 0; i < DWARF_TEXTS; i++) {
		const struct line_section *section = &mapped->text[i];
		size_t offset = (const u8 *)text - section->at;

		if (section->at && (const u8 *)text >= section->at && offset < section->bytes)
			return memchr(text, 0, section->bytes - offset);
	}
	return false;
}

/* A string attribute, or NULL. libdw does not look whether it ends. */
static const char *string(const struct dwarf_file *file, Dwarf_Attribute *attribute)
{
	const char *text = dwarf_formstring(attribute);

	return text && (ends_inside(&file->main, text) || ends_inside(&file->supplement, text)) ? text : NULL;
}

/* The linkage name, which is unique, or the plain one. */
static const char *function_name(const struct dwarf_file *file, Dwarf_Die *die)
{
	static const unsigned attributes[] = { DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name };
	Dwarf_Attribute attribute;

	for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++) {
		const char *name = string(file, dwarf_attr_integrate(die, attributes[i], &attribute));

		if (name && *name)
			return name;
	}
	return NULL;
}

static u32 number(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value = 0;

	if (dwarf_formudata(dwarf_attr(die, name, &attribute), &value) != 0 || value > UINT32_MAX)
		return 0;
	return value;
}

/* Said by the abstract function where the one with the code does not. */
static u32 start_line(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value = 0;

	if (dwarf_formudata(dwarf_attr_integrate(die, DW_AT_decl_line, &attribute), &value) != 0 || value > INT32_MAX)
		return 0;
	return value;
}

/* A unit while addresses of it are looked at. */
struct unit {
	Dwarf_Die die;
	const char *directory;		/* that it was compiled in */
	bool has_lines;
	struct line_table lines;
	struct line_wanted rows[LINES_MAX];	/* ascending */
	u32 row_count;
};

static int compare_rows(const void *a, const void *b)
{
	const struct line_wanted *x = a, *y = b;

	return x->ea < y->ea ? -1 : x->ea > y->ea;
}

/* Finds the rows of all addresses in the unit at once: the program has to be run from its start each time. */
static void find_rows(struct dwarf_file *file, struct unit *unit, const u64 *ea, u32 count)
{
	Dwarf_Attribute attribute;
	Dwarf_Word offset;

	unit->directory = string(file, dwarf_attr(&unit->die, DW_AT_comp_dir, &attribute));
	for (u32 i = 0; i < count; i++)
		unit->rows[i] = (struct line_wanted){ .ea = ea[i] };
	unit->row_count = count;
	qsort(unit->rows, count, sizeof(unit->rows[0]), compare_rows);
	unit->has_lines = dwarf_formudata(dwarf_attr(&unit->die, DW_AT_stmt_list, &attribute), &offset) == 0 &&
			  line_table_open(&unit->lines, &file->sections, offset) == 0;
	if (unit->has_lines)
		line_table_find(&unit->lines, unit->rows, count);
}

/* A source file by its number; its name is relative to its directory, and that to the unit's. */
static const char *file_path(const struct unit *unit, u64 number, char path[PATH_MAX])
{
	const char *base = unit->directory ? unit->directory : "", *directory, *name;

	if (!unit->has_lines || !line_table_file(&unit->lines, number, &directory, &name))
		return NULL;
	if (*name == '/')
		return name;
	if (*directory == '/')
		base = "";
	if (snprintf(path, PATH_MAX, "%s%s%s%s%s", base, *base ? "/" : "", directory, *directory ? "/" : "", name) >=
	    PATH_MAX)
		return NULL;
	return path;
}

/* The chain of one address. */
static void add_chain(struct dwarf_file *file, struct unit *unit, u64 ea, struct lines_builder *builder)
{
	const struct line_wanted key = { .ea = ea };
	const struct line_wanted *row = bsearch(&key, unit->rows, unit->row_count, sizeof(key), compare_rows);
	struct chain chain = { .depth = 0 };
	u32 line, column;
	char path[PATH_MAX];
	const char *source;

	assert(row);	/* each address was asked for */
	line = row->line;
	column = row->column;
	source = row->found ? file_path(unit, row->file, path) : NULL;
	if (dwarf_index_function(&file->index, &unit->die, ea, &chain.die[0])) {
		chain.depth = 1;
		find_inlined(&chain, ea);
	} else if (source) {
		lines_add(builder, NULL, source, line, column, 0);
	}
	while (chain.depth--) {
		Dwarf_Die *die = &chain.die[chain.depth];

		lines_add(builder, function_name(file, die), source, line, column, start_line(die));
		source = file_path(unit, number(die, DW_AT_call_file), path);
		line = number(die, DW_AT_call_line);
		column = number(die, DW_AT_call_column);
	}
}

/* Adds the addresses from the first on that lie in the same unit, and returns how many there were. */
static u32 add_group(struct dwarf_file *file, const u64 *ea, u32 count, struct lines_builder *builder)
{
	struct unit unit;
	Dwarf_Die other;
	u32 n = 1;

	if (!dwarf_index_unit(&file->index, ea[0], &unit.die)) {
		lines_next(builder);
		return 1;
	}
	while (n < count && dwarf_index_unit(&file->index, ea[n], &other) &&
	       dwarf_dieoffset(&other) == dwarf_dieoffset(&unit.die))
		n++;
	find_rows(file, &unit, ea, n);
	for (u32 i = 0; i < n; i++) {
		add_chain(file, &unit, ea[i], builder);
		lines_next(builder);
	}
	dwarf_file_forget(file);
	return n;
}

/* One call's files. DWARF is opened when the first address comes that the language's own tables do not know. */
struct sources {
	struct exe *exe;
	struct lang_tables tables;
	struct dwarf_file *dwarf;
	int dwarf_err;
};

static void sources_done(struct sources *sources)
{
	lang_tables_done(&sources->tables);
	exe_free(sources->exe);
}

static void sources_open(struct sources *sources, int fd, const struct lang_file_ops *const *langs)
{
	if (exe_map(fd, langs, &sources->exe) == 0)
		(void)lang_tables_open(sources->exe, &sources->tables);	/* most have none */
}

/* Adds the next addresses, at least one, and returns how many. */
static u32 add_next(struct sources *sources, const u64 *ea, u32 count, struct lines_builder *builder)
{
	const struct lang_tables *tables = &sources->tables;

	if ((tables->ops && tables->ops->lines(tables->state, ea[0], builder)) || !sources->dwarf) {
		lines_next(builder);
		return 1;
	}
	return add_group(sources->dwarf, ea, count, builder);
}

/* False if an address needs DWARF and there is none, nor tables that know others. */
static bool open_dwarf(struct inlines *inlines, struct sources *sources, const int fds[3], u64 ea)
{
	struct lang_function function;

	if (sources->dwarf || sources->dwarf_err)
		return true;
	if (sources->tables.ops && sources->tables.ops->function(sources->tables.state, ea, &function))
		return true;
	sources->dwarf_err = dwarf_files_get(&inlines->files, fds[0], fds[1], fds[2], monotonic_ns(), &sources->dwarf);
	return !sources->dwarf_err || sources->tables.ops;
}

int inlines_find(struct inlines *inlines, int fd, int debug_fd, int alt_fd, const u64 *ea, u32 count, u64 budget_ns,
		 struct exe_lines **ret_lines)
{
	_cleanup_(lines_done) struct lines_builder builder;
	_cleanup_(sources_done) struct sources sources = { 0 };
	u64 begin_ns = 0;
	u32 looked = 0;

	lines_init(&builder);
	sources_open(&sources, fd, inlines->langs);
	while (looked < count && (!looked || monotonic_ns() - begin_ns < budget_ns)) {
		if (!open_dwarf(inlines, &sources, (int[]){ fd, debug_fd, alt_fd }, ea[looked]))
			return sources.dwarf_err;
		if (!looked)
			begin_ns = monotonic_ns();
		looked += add_next(&sources, ea + looked, count - looked, &builder);
	}
	for (u32 i = looked; i < count; i++)
		lines_next(&builder);
	return lines_finish(&builder, count - looked, ret_lines);
}
