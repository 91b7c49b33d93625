// SPDX-License-Identifier: Apache-2.0
#include "exe/rows_part.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "exe/elf.h"
#include "exe/rows.h"
#include "exe/rows_build.h"
#include "exe/rows_compile.h"
#include "exe/rows_file.h"
#include "forge.h"
#include "test.h"

#define PAGE 0x10000ull
#define TEXT (2 * PAGE)
#define TEXT_BYTES (3 * PAGE)

static const struct unwind_rule known = { .kind = RULE_CFA, .cfa_off = 8 };

struct told_rule {
	u64 ea;
	const struct unwind_rule *rule;
};

static struct rows_file *make_file(const struct told_rule *told, u32 count)
{
	struct rows_build *build = rows_build_new();
	struct rows *rows;

	for (u32 i = 0; i < count; i++)
		rows_build_add(build, told[i].ea, told[i].rule);
	EQ(rows_build_finish(build, EM_X86_64, 0, &rows), 0);
	EQ(rows_check(rows, rows->bytes), 0);
	rows_build_free(build);
	return rows_file_of(rows);
}

TEST(rows_part_is_what_a_page_leaves_open_and_what_is_around_it)
{
	/* Two small stretches in page 2; one from the middle of page 3 to that of page 12. */
	const struct told_rule told[] = {
		{ 2 * PAGE, &known }, { 2 * PAGE + 0x100, &ROWS_UNSWEPT }, { 2 * PAGE + 0x200, &known },
		{ 2 * PAGE + 0x300, &ROWS_UNSWEPT }, { 2 * PAGE + 0x400, &known },
		{ 3 * PAGE + 0x8000, &ROWS_UNSWEPT }, { 12 * PAGE + 0x8000, &known },
		{ 13 * PAGE, &(struct unwind_rule){ .kind = RULE_NONE } },
	};
	static const struct {
		u64 ea;
		u32 count;	/* 0: no part */
		u64 first, last;
	} table[] = {
		{ 2 * PAGE + 0x100, 5, 2 * PAGE + 0x100, 2 * PAGE + 0x400 },
		{ 2 * PAGE + 0x3ff, 5, 2 * PAGE + 0x100, 2 * PAGE + 0x400 },
		{ 2 * PAGE + 0x400, 0, 0, 0 },
		{ 3 * PAGE + 0x7fff, 0, 0, 0 },
		{ 3 * PAGE + 0x8000, 3, 3 * PAGE + 0x8000, 5 * PAGE },
		{ 5 * PAGE, 3, 3 * PAGE + 0x8000, 7 * PAGE },
		{ 9 * PAGE, 3, 3 * PAGE + 0x8000, 11 * PAGE },
		{ 12 * PAGE, 3, 3 * PAGE + 0x8000, 12 * PAGE + 0x8000 },
		{ 13 * PAGE, 0, 0, 0 },
		{ 100 * PAGE, 0, 0, 0 },
	};
	_cleanup_(rows_file_freep) struct rows_file *file = make_file(told, sizeof(told) / sizeof(*told));

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		struct rows_part part;

		printf("# address %zu\n", i);
		EQ(rows_part_find(file, table[i].ea, &part), table[i].count > 0);
		if (!table[i].count)
			continue;
		EQ(part.count, table[i].count);
		EQ(part.ea[0], table[i].ea & ~(PAGE - 1));
		EQ(part.ea[1], table[i].first);
		EQ(part.ea[part.count - 1], table[i].last);
	}
}

TEST(rows_part_is_swept_with_functions_that_begin_before_its_page)
{
	static u8 text[TEXT_BYTES];
	_cleanup_(exe_freep) struct exe *exe = NULL;
	_cleanup_(forge_done) struct forge f;
	_cleanup_(freep) struct rows *rows = NULL;
	struct rows_part part = { .count = 3, .ea = { TEXT + PAGE, TEXT, TEXT + TEXT_BYTES } };

	memset(text, 0x90, sizeof(text));
	memcpy(text + 0x8000, "\xc3\x53", 2);		/* ret; push %rbx: a function that goes on in the next page */
	memcpy(text + PAGE + 0x100, "\x5b\xc3\x53\x50\x5a\x5b\xc3", 7);
	forge_init(&f, EM_X86_64);
	forge_section(&f, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, TEXT, text, sizeof(text));
	forge_finish(&f);
	EQ(exe_open_mem(f.b.data, f.b.len, &exe), 0);
	EQ(rows_part_compile(exe, &part, &rows), 0);
	EQ(rows_check(rows, rows->bytes), 0);
	EQ(rows_find(rows, TEXT + PAGE)->kind, RULE_SWEPT);
	EQ(rows_find(rows, TEXT + PAGE)->cfa_off, 16);
	EQ(rows_find(rows, TEXT + PAGE + 0x101)->cfa_off, 8);
	EQ(rows_find(rows, TEXT + PAGE + 0x104)->cfa_off, 24);
	OK(!rows_find(rows, TEXT + 0x8001));
	OK(!rows_find(rows, TEXT + 2 * PAGE));
}

TEST(rows_part_begins_with_a_long_function_that_the_symbol_table_tells)
{
	static u8 text[8 * PAGE];
	struct rows_part part = { .count = 3, .ea = { TEXT + 7 * PAGE, TEXT, TEXT + sizeof(text) } };

	/* sub $8,%rsp, in a page that is too far away to be looked through without need */
	for (size_t i = 0; i < sizeof(text); i += 2)
		memcpy(text + i, "\x31\xc0", 2);	/* xor %eax,%eax */
	memcpy(text + 0x8000, "\x48\x83\xec\x08", 4);
	for (int told = 0; told < 2; told++) {
		_cleanup_(exe_freep) struct exe *exe = NULL;
		_cleanup_(forge_done) struct forge f;
		_cleanup_(freep) struct rows *rows = NULL;
		Elf64_Sym symbols[] = { { 0 }, { .st_info = STT_FUNC, .st_value = TEXT + 0x8000 } };

		forge_init(&f, EM_X86_64);
		forge_section(&f, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, TEXT, text, sizeof(text));
		if (told)
			forge_section(&f, ".symtab", SHT_SYMTAB, 0, 0, symbols, sizeof(symbols));
		forge_finish(&f);
		EQ(exe_open_mem(f.b.data, f.b.len, &exe), 0);
		EQ(rows_part_compile(exe, &part, &rows), 0);
		EQ(rows_find(rows, TEXT + 7 * PAGE)->cfa_off, told ? 16 : 8);
	}
}

TEST(rows_part_that_is_none_is_refused)
{
	static const struct rows_part table[] = {
		{ .count = 1, .ea = { PAGE } },
		{ .count = 2, .ea = { PAGE, PAGE } },
		{ .count = 3, .ea = { PAGE + 1, PAGE, 2 * PAGE } },
		{ .count = 3, .ea = { 20 * PAGE, 3 * PAGE, 21 * PAGE } },
		{ .count = 3, .ea = { PAGE, PAGE, 3 * PAGE + 1 } },
		{ .count = 3, .ea = { PAGE, PAGE + 2, PAGE + 1 } },
		{ .count = 5, .ea = { PAGE, PAGE, PAGE + 8, PAGE + 4, PAGE + 16 } },
		{ .count = 3, .ea = { PAGE, ~0ull, 2 * PAGE } },
		{ .count = 3, .ea = { ~0ull << 16, ~0ull << 16, 0 } },
	};
	_cleanup_(exe_freep) struct exe *exe = NULL;
	_cleanup_(forge_done) struct forge f;
	struct rows *rows;

	forge_init(&f, EM_X86_64);
	forge_section(&f, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, PAGE, "\xc3", 1);
	forge_finish(&f);
	EQ(exe_open_mem(f.b.data, f.b.len, &exe), 0);
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		EQ(rows_part_compile(exe, &table[i], &rows), -EBADMSG);
	EQ(rows_part_compile(exe, &(struct rows_part){ .count = 3, .ea = { PAGE, PAGE, 2 * PAGE } }, &rows), -ENODATA);
}

TEST(rows_part_fills_in_what_the_file_leaves_open)
{
	u16 low_a[] = { 0, 0x10, 0x40 }, rule_a[] = { 5, 0, 6 }, low_b[] = { 0, 0x20, 0x30 }, rule_b[] = { 7, 8, 6 };
	u16 low[8], rule[8];
	struct rows_list own = { low_a, rule_a, 3 }, added = { low_b, rule_b, 3 }, list = { low, rule, 8 };
	static const u16 want[][2] = { { 0, 5 }, { 0x10, 7 }, { 0x20, 8 }, { 0x30, 6 } };

	OK(rows_part_merge(&own, &added, &list));
	EQ(list.count, 4);
	for (u32 i = 0; i < list.count; i++) {
		EQ(low[i], want[i][0]);
		EQ(rule[i], want[i][1]);
	}
	list.count = 3;
	OK(!rows_part_merge(&own, &added, &list));
}

/* The rule of an address, by the file's rows or, where these leave it for later, by those of its page. */
static struct unwind_rule rule_by_page(const struct exe *exe, const struct rows_file *file, const struct rows *rows,
				       u64 ea)
{
	const struct unwind_rule *rule = rows_find(rows, ea), none = { .kind = RULE_NONE };
	struct unwind_rule found = rule && !rows_is_unread(rule) ? *rule : none;
	struct rows_part part;
	struct rows *page = NULL;

	if (!rule || !rows_is_unread(rule))
		return found;
	OK(rows_part_find(file, ea, &part));
	OK(part.is_unread);
	if (rows_part_compile(exe, &part, &page) < 0)
		return none;
	rule = rows_find(page, ea);
	found = rule ? *rule : none;
	free(page);
	return found;
}

TEST(rows_of_a_large_file_are_the_same_page_by_page)
{
	_cleanup_(closep) int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	_cleanup_(exe_freep) struct exe *exe = NULL;
	_cleanup_(freep) struct rows *whole = NULL, *later = NULL;
	_cleanup_(rows_file_freep) struct rows_file *file = NULL;
	struct rows *copy;

	EQ(exe_map(fd, NULL, &exe), 0);
	EQ(rows_compile(exe, NULL, &whole), 0);
	EQ(rows_compile_within(exe, NULL, ROWS_WHOLE_MAX, &copy), 0);
	EQ(copy->row_count, whole->row_count);	/* it is not large */
	free(copy);
	EQ(rows_compile_within(exe, NULL, 100, &later), 0);
	EQ(rows_check(later, later->bytes), 0);
	OK(later->row_count < whole->row_count / 20);
	copy = malloc(later->bytes);
	memcpy(copy, later, later->bytes);
	file = rows_file_of(copy);
	for (u32 p = 0; p < whole->page_count; p++) {
		const struct rows_page *page = &rows_pages(whole)[p];

		for (u32 i = 0; i < page->count; i += 37) {
			u64 ea = ((u64)page->number << ROWS_PAGE_SHIFT) + rows_low(whole)[page->first + i];
			struct unwind_rule want = *rows_find(whole, ea), rule = rule_by_page(exe, file, later, ea);

			EQ(rule.kind, want.kind);
			OK(rule.kind == RULE_NONE || !memcmp(&rule, &want, sizeof(rule)));
		}
	}
}
