// SPDX-License-Identifier: Apache-2.0
#include "lang/go/go_tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "exe/lines.h"
#include "lang/go/pclntab.h"

static int tables_open(const struct exe *exe, void **ret_tables)
{
	_cleanup_(freep) struct pclntab *table = malloc(sizeof(*table));
	int r;

	if (!table)
		return -ENOMEM;
	r = pclntab_open(exe, table);
	if (r < 0)
		return r;
	*ret_tables = TAKE(table);
	return 0;
}

static void tables_close(void *tables)
{
	free(tables);
}

/* A copy that ends: text in the file may not. */
static const char *copy_text(const char *text, u32 max, char copy[LANG_NAME_MAX])
{
	size_t bytes = strnlen(text, max < LANG_NAME_MAX - 1 ? max : LANG_NAME_MAX - 1);

	memcpy(copy, text, bytes);
	copy[bytes] = 0;
	return copy;
}

/* As Go prints it, without the types that a generic function was made for (runtime/symtab.go: funcNameForPrint). */
static const char *copy_name(const struct pclntab *table, u32 offset, char copy[LANG_NAME_MAX])
{
	static const char dots[] = "[...]";
	char *open, *close;
	const char *name;
	u32 max;

	name = pclntab_name(table, offset, &max);
	(void)copy_text(name, max, copy);
	open = strchr(copy, '[');
	close = strrchr(copy, ']');
	if (open && close > open && strlen(copy) + sizeof(dots) < LANG_NAME_MAX) {
		memmove(open + sizeof(dots) - 1, close + 1, strlen(close + 1) + 1);
		memcpy(open, dots, sizeof(dots) - 1);
	}
	return copy;
}

static bool tables_function(const void *tables, u64 ea, struct lang_function *ret_function)
{
	const struct pclntab *table = tables;
	struct go_function function;

	if (!pclntab_function(table, pclntab_find(table, ea), &function))
		return false;
	ret_function->start_ea = function.start_ea;
	ret_function->end_ea = function.end_ea;
	ret_function->is_native = !function.pcsp;
	return *copy_name(table, function.name, ret_function->name);
}

/* One line: a function by the offset of its name and its first line, at an address. */
static void add_line(const struct pclntab *table, const struct go_function *function, u32 name, u32 start_line, u64 ea,
		     struct lines_builder *builder)
{
	s32 line = pclntab_value(table, function, function->pcln, ea);
	s32 file = pclntab_value(table, function, function->pcfile, ea);
	char name_copy[LANG_NAME_MAX], path_copy[LANG_NAME_MAX];
	const char *path;
	u32 max;

	path = pclntab_file(table, function, file, &max);
	lines_add(builder, copy_name(table, name, name_copy), copy_text(path, max, path_copy), line > 0 ? line : 0, 0,
		  start_line);
}

/*
 * The index at an address leads to the call that was inlined there last, that to where in the same function it was
 * made, which may lie in another one. A chain too long loses its middle: the function itself is always there.
 */
static bool tables_lines(const void *tables, u64 ea, struct lines_builder *builder)
{
	const struct pclntab *table = tables;
	struct go_function function;
	struct go_inlined inlined;

	/* C code that Go's linker took in has a name, no more. */
	if (!pclntab_function(table, pclntab_find(table, ea), &function) || !function.pcsp)
		return false;
	for (u32 depth = 1; depth < LINES_DEPTH_MAX; depth++) {
		s32 index = pclntab_value(table, &function, function.inline_index, ea);

		if (!pclntab_inlined(table, &function, index, &inlined))
			break;
		add_line(table, &function, inlined.name, inlined.start_line, ea, builder);
		ea = inlined.call_ea;
	}
	add_line(table, &function, function.name, function.start_line, ea, builder);
	return true;
}

const struct lang_tables_ops go_tables_ops = {
	.open = tables_open,
	.close = tables_close,
	.functions = go_rows_functions,
	.rows = go_rows_tell,
	.function = tables_function,
	.lines = tables_lines,
};
