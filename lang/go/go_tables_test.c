// SPDX-License-Identifier: Apache-2.0
#include "lang/go/go_tables.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "exe/elf.h"
#include "exe/lang_tables.h"
#include "exe/lines.h"
#include "exe/rows.h"
#include "exe/rows_compile.h"
#include "exe/symbols.h"
#include "exe/symbols_build.h"
#include "forge_go.h"
#include "lang/go/pclntab.h"
#include "lang/lang.h"

#define TEXT FORGE_GO_TEXT

/*
 * Values count from -1, changes have their sign in the lowest bit:
 *	frame	0 for 1 byte, 8 for 3, 0x28 for 0x30, 8 for 1, 0 for the rest
 *	leaf	0 throughout
 */
#define FRAME "\x02\x01\x10\x03\x40\x30\x3f\x01\x0f\x40"
#define LEAF "\x02\x7f"
#define FLAGS(set) .flags = (set)

static const struct forge_go_function functions[] = {
	{ "main.frame", 0x000, .pcsp = FRAME },
	{ "main.leaf", 0x100, .pcsp = LEAF },
	{ "main.generic[go.shape.int].func1", 0x200, .pcsp = FRAME },
	{ "runtime.goexit", 0x300, FLAGS(GO_TOP_FRAME | GO_ASM), .pcsp = LEAF },
	{ "runtime.systemstack", 0x400, FLAGS(GO_SP_WRITE | GO_ASM), .pcsp = "\x02\x02\x10\x40\x0f\x10" },
	{ "runtime.mcall", 0x500, FLAGS(GO_SP_WRITE | GO_ASM), .pcsp = LEAF },
	{ "runtime.sigreturn__sigaction", 0x600, FLAGS(GO_ASM), .pcsp = LEAF },
	{ "from_c", 0x700, FLAGS(0) },
	{ "runtime.last", 0x800, .pcsp = LEAF },
};
#define COUNT (sizeof(functions) / sizeof(functions[0]))

static u8 code[FORGE_GO_TEXT_BYTES];

static void open_forge(struct forge *f, const struct forge_go_options *options, struct exe **ret_exe)
{
	static const u8 frame[] = { 0x90, 0x55, 0x48, 0x89, 0xe5 }, load_sp[] = { 0x48, 0x8b, 0x66, 0x38 };
	struct forge_go_options with_code = *options;

	memcpy(code + 0x400, frame, sizeof(frame));
	memcpy(code + 0x510, load_sp, sizeof(load_sp));
	with_code.code = code;
	forge_go(f, functions, COUNT, &with_code);
	forge_go_finish(f, options);
	EQ(exe_open_mem(f->b.data, f->b.len, ret_exe), 0);
	(*ret_exe)->langs = lang_files;
}

static const struct unwind_rule *rule_at(const struct rows *rows, u64 ea)
{
	const struct unwind_rule *rule = rows_find(rows, ea);

	OK(rule);
	return rule;
}

TEST(go_rows_are_exact_at_each_instruction)
{
	static const struct { u32 at; s32 cfa; u8 saved; } wanted[] = {
		{ 0x000, 8, FP_SAME }, { 0x001, 0x10, FP_AT_CFA }, { 0x003, 0x10, FP_AT_CFA },
		{ 0x004, 0x30, FP_AT_CFA }, { 0x033, 0x30, FP_AT_CFA }, { 0x034, 0x10, FP_AT_CFA },
		{ 0x035, 8, FP_SAME }, { 0x100, 8, FP_SAME }, { 0x17e, 8, FP_SAME }, { 0x201, 0x10, FP_AT_CFA },
	};
	_cleanup_(exe_freep) struct exe *exe = NULL;
	_cleanup_(freep) struct rows *rows = NULL;
	struct forge f;

	open_forge(&f, &(struct forge_go_options){ 0 }, &exe);
	EQ(rows_compile(exe, NULL, &rows), 0);
	EQ(rows_check(rows, rows->bytes), 0);
	for (u32 i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		const struct unwind_rule *rule = rule_at(rows, TEXT + wanted[i].at);

		EQ(rule->kind, RULE_CFA);
		EQ(rule->cfa_reg, 7);
		EQ(rule->cfa_off, wanted[i].cfa);
		EQ(rule->ra_off, -8);
		EQ(rule->saved, wanted[i].saved);
	}
	forge_done(&f);
}

TEST(go_rows_know_where_stacks_end_and_change)
{
	_cleanup_(exe_freep) struct exe *exe = NULL;
	_cleanup_(freep) struct rows *rows = NULL;
	struct forge f;

	open_forge(&f, &(struct forge_go_options){ 0 }, &exe);
	EQ(rows_compile(exe, NULL, &rows), 0);
	EQ(rule_at(rows, TEXT + 0x300)->kind, RULE_END);
	/* systemstack: by its depth until the frame pointer is set, and again when it was popped */
	EQ(rule_at(rows, TEXT + 0x401)->cfa_off, 8);
	EQ(rule_at(rows, TEXT + 0x402)->cfa_off, 16);
	EQ(rule_at(rows, TEXT + 0x405)->kind, RULE_SWITCH);
	EQ(rule_at(rows, TEXT + 0x441)->kind, RULE_SWITCH);
	EQ(rule_at(rows, TEXT + 0x442)->cfa_off, 8);
	/* mcall: until it has loaded the other stack pointer */
	EQ(rule_at(rows, TEXT + 0x50f)->kind, RULE_CFA);
	EQ(rule_at(rows, TEXT + 0x513)->kind, RULE_END);
	/* a handler's return address is looked up one byte lower */
	EQ(rule_at(rows, TEXT + 0x5fe)->kind, RULE_END);
	EQ(rule_at(rows, TEXT + 0x5ff)->kind, RULE_SIGNAL);
	forge_done(&f);
}

/* Tables count instructions. systemstack() has 16 bytes on the stack behind its first, mcall() has none. */
TEST(go_rows_of_arm64_know_where_stacks_change)
{
	static const struct forge_go_function of_arm64[] = {
		{ "runtime.systemstack", 0x000, FLAGS(GO_SP_WRITE | GO_ASM), .pcsp = "\x02\x01\x20\x10\x1f\x10" },
		{ "runtime.mcall", 0x100, FLAGS(GO_SP_WRITE | GO_ASM), .pcsp = LEAF },
		{ "main.frame", 0x200, .pcsp = "\x02\x01\x20\x10\x1f\x10" },
	};
	static u32 words[FORGE_GO_TEXT_BYTES / 4];
	struct forge_go_options options = { .arm64 = true, .code = words };
	_cleanup_(exe_freep) struct exe *exe = NULL;
	_cleanup_(freep) struct rows *rows = NULL;
	struct forge f;

	words[2] = 0xd10023fd;		/* sub x29, sp, #8 */
	words[8] = 0x9100007f;		/* mov sp, x3 */
	words[0x108 / 4] = 0x910003e0;	/* mov x0, sp */
	words[0x110 / 4] = 0x9100001f;	/* mov sp, x0 */
	forge_go(&f, of_arm64, 3, &options);
	forge_go_finish(&f, &options);
	EQ(exe_open_mem(f.b.data, f.b.len, &exe), 0);
	exe->langs = lang_files;
	EQ(rows_compile(exe, NULL, &rows), 0);
	EQ(rule_at(rows, TEXT)->saved >> 4, RA_IN_REG);
	EQ(rule_at(rows, TEXT + 8)->cfa_off, 16);
	EQ(rule_at(rows, TEXT + 12)->kind, RULE_SWITCH);
	EQ(rule_at(rows, TEXT + 0x40)->kind, RULE_SWITCH);
	EQ(rule_at(rows, TEXT + 0x44)->saved >> 4, RA_IN_REG);
	EQ(rule_at(rows, TEXT + 0x110)->saved >> 4, RA_IN_REG);
	EQ(rule_at(rows, TEXT + 0x114)->kind, RULE_END);
	EQ(rule_at(rows, TEXT + 0x20c)->kind, RULE_CFA);
	EQ(rule_at(rows, TEXT + 0x20c)->saved, FP_AT_CFA);
	forge_done(&f);
}

TEST(go_tables_leave_c_code_to_others)
{
	_cleanup_(exe_freep) struct exe *exe = NULL;
	struct lang_tables tables = { 0 };
	struct lang_function function;
	struct lines_builder builder;
	struct forge f;

	open_forge(&f, &(struct forge_go_options){ 0 }, &exe);
	EQ(lang_tables_open(exe, &tables), 0);
	EQ(tables.lang, LANG_GO);
	lines_init(&builder);
	OK(tables.ops->function(tables.state, TEXT + 0x710, &function));
	STREQ(function.name, "from_c");
	OK(function.is_native);
	OK(!tables.ops->lines(tables.state, TEXT + 0x710, &builder));
	OK(tables.ops->function(tables.state, TEXT + 0x810, &function));
	OK(!function.is_native);
	OK(!tables.ops->function(tables.state, TEXT - 1, &function));
	OK(!tables.ops->function(tables.state, TEXT + FORGE_GO_TEXT_BYTES, &function));
	lines_done(&builder);
	lang_tables_done(&tables);
	forge_done(&f);
}

TEST(go_symbols_say_whose_they_are)
{
	static const u64 ea[] = { TEXT + 0x210, TEXT + 0x710 };
	_cleanup_(freep) struct symbols *symbols = NULL;
	_cleanup_(exe_freep) struct exe *exe = NULL;
	const struct symbol *symbol;
	struct forge f;

	open_forge(&f, &(struct forge_go_options){ 0 }, &exe);
	EQ(symbols_build(exe, NULL, ea, 2, &symbols), 0);
	EQ(symbols_check(symbols, symbols->bytes), 0);
	symbol = symbols_find(symbols, ea[0]);
	OK(symbol);
	STREQ(symbols_name(symbols, symbol), "main.generic[...].func1");
	EQ(symbol->ea, TEXT + 0x200);
	EQ(symbol->bytes, 0x100);
	EQ(symbol->lang, LANG_GO);
	symbol = symbols_find(symbols, ea[1]);
	OK(symbol);
	STREQ(symbols_name(symbols, symbol), "from_c");
	EQ(symbol->lang, LANG_NONE);
	forge_done(&f);
}

/* The chain of an address as "function file:line < ...". */
static const char *chain(const struct exe *exe, u64 ea)
{
	_cleanup_(freep) struct exe_lines *lines = NULL;
	struct lang_tables tables = { 0 };
	struct lines_builder builder;
	static char text[1024];
	size_t len = 0;

	EQ(lang_tables_open(exe, &tables), 0);
	lines_init(&builder);
	OK(tables.ops->lines(tables.state, ea, &builder));
	lines_next(&builder);
	EQ(lines_finish(&builder, 0, &lines), 0);
	EQ(exe_lines_check(lines, lines->bytes), 0);
	for (u32 i = 0; i < lines->line_count; i++) {
		const struct exe_line *line = &exe_lines_array(lines)[i];
		const char *strings = exe_lines_strings(lines);

		len += snprintf(text + len, sizeof(text) - len, "%s%s %s:%u", i ? " < " : "", strings + line->function,
				strings + line->file, line->line);
		EQ(line->start_line, i + 1 < lines->line_count ? 0 : 10);
	}
	lines_done(&builder);
	lang_tables_done(&tables);
	return text;
}

/* In main.outer are main.middle up to 0x20, then main.inner, which was called from 0x18, in main.middle. */
TEST(go_lines_expand_inlined_calls)
{
	static const struct forge_go_function inlining[] = {
		{ "main.outer", 0x000, .pcsp = FRAME, .tree = 1, .inline_index = "\x02\x20\x02\x20",
		  .pcfile = "\x04\x20\x02\x40", .pcln = "\x14\x10\x14\x08\x14\x08\x14\x40" },
		{ "main.middle", 0x400, .pcsp = LEAF },
		{ "main.inner", 0x500, .pcsp = LEAF },
	};
	static const u32 tree[] = {
		0, 1 + sizeof("main.outer"), 0x50, 0,
		0, 1 + sizeof("main.outer") + sizeof("main.middle"), 0x18, 0,
	};
	static const struct forge_go_options options = { .funcdata = tree, .funcdata_bytes = sizeof(tree) };
	_cleanup_(exe_freep) struct exe *exe = NULL;
	struct forge f;

	forge_go(&f, inlining, 3, &options);
	forge_go_finish(&f, &options);
	EQ(exe_open_mem(f.b.data, f.b.len, &exe), 0);
	exe->langs = lang_files;
	STREQ(chain(exe, TEXT + 0x410), "main.middle :0");
	STREQ(chain(exe, TEXT + 0x45), "main.outer /src/c.go:39");
	STREQ(chain(exe, TEXT + 0x04), "main.middle /src/b.go:9 < main.outer /src/c.go:39");
	STREQ(chain(exe, TEXT + 0x30),
	      "main.inner /src/c.go:39 < main.middle /src/b.go:29 < main.outer /src/c.go:39");
	forge_done(&f);
}

/* What was inlined may have the first of all names; zeroes are no trees. */
TEST(go_trees_may_begin_with_the_first_name)
{
	static const struct forge_go_function inlining[] = {
		{ "main.a", 0x000, .pcsp = FRAME, .tree = 1, .inline_index = "\x02\x20" },
		{ "main.b", 0x400, .pcsp = FRAME, .tree = 17, .inline_index = "\x02\x20" },
		{ "main.c", 0x800, .pcsp = FRAME, .tree = 33, .inline_index = "\x02\x20" },
	};
	static const u32 trees[12] = { [1] = 1, [5] = 1 + sizeof("main.a"), [9] = 0 }, zeroes[12];
	struct forge_go_options options = { .funcdata = trees, .funcdata_bytes = sizeof(trees) };

	for (u32 i = 0; i < 2; i++) {
		_cleanup_(exe_freep) struct exe *exe = NULL;
		struct pclntab table;
		struct forge f;

		options.funcdata = i ? zeroes : trees;
		forge_go(&f, inlining, 3, &options);
		forge_go_finish(&f, &options);
		EQ(exe_open_mem(f.b.data, f.b.len, &exe), 0);
		EQ(pclntab_open(exe, &table), 0);
		EQ(table.gofunc_ea, i ? 0 : FORGE_GO_FUNCDATA);
		forge_done(&f);
	}
}

TEST(go_tables_are_found_however_the_file_was_linked)
{
	static const struct forge_go_options options[] = {
		{ 0 }, { .relocated = true }, { .merged = true }, { .relocated = true, .merged = true },
		{ .without_sections = true }, { .relocated = true, .without_sections = true },
	};

	for (u32 i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		_cleanup_(exe_freep) struct exe *exe = NULL;
		struct go_function function;
		struct pclntab table;
		struct forge f;
		u32 max;

		open_forge(&f, &options[i], &exe);
		EQ(pclntab_open(exe, &table), 0);
		EQ(table.text_ea, TEXT);
		EQ(table.function_count, COUNT);
		EQ(pclntab_find(&table, TEXT + 0x1ff), 1);
		OK(pclntab_function(&table, 1, &function));
		STREQ(pclntab_name(&table, function.name, &max), "main.leaf");
		forge_done(&f);
	}
}

TEST(go_tables_survive_any_wrong_word)
{
	struct forge f;
	struct exe *whole = NULL;

	open_forge(&f, &(struct forge_go_options){ 0 }, &whole);
	exe_free(whole);
	for (size_t at = 0; at < f.b.len; at += 4) {
		_cleanup_(exe_freep) struct exe *exe = NULL;
		struct rows *rows = NULL;
		u32 saved, broken = 0xfffffff0;

		memcpy(&saved, f.b.data + at, 4);
		memcpy(f.b.data + at, &broken, 4);
		if (exe_open_mem(f.b.data, f.b.len, &exe) == 0)
			exe->langs = lang_files;
		if (exe && rows_compile(exe, NULL, &rows) == 0)
			EQ(rows_check(rows, rows->bytes), 0);
		free(rows);
		memcpy(f.b.data + at, &saved, 4);
	}
	forge_done(&f);
}

TEST(go_rows_without_memory)
{
	_cleanup_(exe_freep) struct exe *exe = NULL;
	struct rows *rows = NULL;
	struct forge f;
	int r = -ENOMEM;

	open_forge(&f, &(struct forge_go_options){ 0 }, &exe);
	for (long n = 0; r < 0 && n < 100; n++) {
		test_alloc_fail(n);
		r = rows_compile(exe, NULL, &rows);
		test_alloc_reset();
		OK(r == 0 || r == -ENOMEM);
	}
	EQ(r, 0);
	free(rows);
	forge_done(&f);
}
