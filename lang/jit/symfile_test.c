// SPDX-License-Identifier: Apache-2.0
#include "lang/jit/symfile.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "exe/rows.h"
#include "forge_jit.h"
#include "lang/jit/code_image.h"
#include "lang/jit/code_rows.h"
#include "lang/jit/code_table.h"
#include "lang/jit/gdb_jit.h"
#include "lang/lang.h"
#include "test.h"

static const char *name_at(struct code_table *table, u64 va)
{
	const struct code_piece *piece = code_table_find(table, va);

	return piece ? code_table_text(table, piece->name) : NULL;
}

struct taken {
	struct lang_process process;
	struct code_table table;
	struct code_rows rows;
	u32 files;
};

static void take(void *arg, const void *at, size_t bytes)
{
	struct taken *t = arg;

	t->files++;
	symfile_take(at, bytes, &t->process, &t->table, &t->rows);
}

static void taken_done(struct taken *t)
{
	code_table_done(&t->table);
	code_rows_done(&t->rows);
}

TEST(symbols_of_an_object_count_from_where_its_section_was_loaded_to)
{
	struct taken t = { .process.pid = (u32)getpid() };
	struct object o;

	object_init(&o, 0x7000, 0x40);
	take(&t, &o, sizeof(o));
	STREQ(name_at(&t.table, 0x7000), "first");
	OK(!name_at(&t.table, 0x700b));
	STREQ(name_at(&t.table, 0x7010), "second");
	STREQ(name_at(&t.table, 0x703f), "second");	/* to the end of the section, for lack of a size */
	OK(!name_at(&t.table, 0x7040));
	/* A file that was linked has addresses as they are. */
	object_init(&o, 0x9000, 0x40);
	o.header.e_type = ET_EXEC;
	o.symbol[1].st_value = 0x9000;
	o.symbol[2].st_value = 0x9040;	/* outside */
	take(&t, &o, sizeof(o));
	STREQ(name_at(&t.table, 0x9000), "first");
	OK(!name_at(&t.table, 0x9040));
	taken_done(&t);
}

TEST(names_of_symbols_are_cut_and_end_in_their_table)
{
	struct {
		struct object o;
		char more[2 * CODE_NAME_MAX];
	} file;
	struct taken t = { .process.pid = (u32)getpid() };
	u32 more = sizeof(file.o) - offsetof(struct object, strings);

	object_init(&file.o, 0x7000, 0x40);
	memset(file.more, 'x', sizeof(file.more));
	file.o.section[1].sh_size = more + sizeof(file.more);
	file.o.symbol[1].st_name = more;
	file.o.symbol[2].st_name = more + sizeof(file.more) - 4;	/* without an end */
	take(&t, &file, sizeof(file));
	EQ(strlen(name_at(&t.table, 0x7000)), CODE_NAME_MAX);
	OK(!name_at(&t.table, 0x7010));
	taken_done(&t);
}

TEST(files_that_make_no_sense_are_passed_over)
{
	struct taken t = { .process.pid = (u32)getpid() };
	struct object o;

	object_init(&o, 0, 0x40);		/* not loaded */
	take(&t, &o, sizeof(o));
	object_init(&o, ~0ull - 0x10, 0x40);
	take(&t, &o, sizeof(o));
	object_init(&o, 0x7000, ~0ull);
	take(&t, &o, sizeof(o));
	object_init(&o, 0x7000, 0x40);
	o.symbol[1].st_name = sizeof(strings);
	o.symbol[2].st_shndx = 77;
	take(&t, &o, sizeof(o));
	take(&t, &o, 8);
	EQ(t.table.count, 0);
	taken_done(&t);
}

static int make(void *arg, const struct code_place *place, struct rows **ret_rows)
{
	struct taken *t = arg;

	return code_image_rows(&t->process, &t->table, place, NULL, ret_rows);
}

TEST(code_without_tables_is_unwound_by_what_it_does_to_the_stack)
{
	struct taken t = { .process.pid = (u32)getpid() };
	u64 va = (u64)(uintptr_t)x86_code, base = va & ~0xffffull;
	_cleanup_(freep) struct rows *rows = NULL;
	const struct unwind_rule *rule;
	struct object o;

	object_init(&o, va, sizeof(x86_code));
	take(&t, &o, sizeof(o));
	EQ(code_rows_order(&t.rows, va, va + 1), 1);
	EQ(code_rows_order(&t.rows, va + sizeof(x86_code), ~0ull - 1), 0);
	EQ(code_rows_join(&t.rows, va + sizeof(x86_code), ~0ull, base, make, &t, &rows), -ENODATA);
	EQ(code_rows_join(&t.rows, va, va + 0x1000, base, make, &t, &rows), 0);
	rule = rows_find(rows, va + 5 - base);		/* in the call of the first */
	OK(rule && rule->kind == RULE_SWEPT && rule->cfa_reg == 7);
	EQ(rule->cfa_off, 16);
	rule = rows_find(rows, va + 16 - base);		/* the second has pushed nothing yet */
	EQ(rule->cfa_off, 8);
	rule = rows_find(rows, va + 18 - base);
	EQ(rule->cfa_off, 16);
	taken_done(&t);
}

TEST(code_that_is_told_later_takes_the_place_of_what_was_there)
{
	struct code_rows code = { 0 };

	code_rows_add(&code, &(struct code_place){ .start_va = 0x1000, .end_va = 0x2000 }, NULL);
	code_rows_add(&code, &(struct code_place){ .start_va = 0x3000, .end_va = 0x4000 }, NULL);
	code_rows_add(&code, &(struct code_place){ .start_va = 0x5000, .end_va = 0x6000 }, NULL);
	EQ(code.count, 3);
	EQ(code_rows_order(&code, 0x2000, 0x5000), 2);
	code_rows_add(&code, &(struct code_place){ .start_va = 0x1800, .end_va = 0x3001 }, NULL);
	EQ(code.count, 2);
	EQ(code_rows_order(&code, 0x1000, 0x1800), 0);
	EQ(code_rows_order(&code, 0x3000, 0x3001), 4);
	EQ(code_rows_order(&code, 0, ~0ull), 4);
	code_rows_done(&code);
}

static int make_none(void *arg, const struct code_place *place, struct rows **ret_rows)
{
	u32 *made = arg;

	if (*made == CODE_ROWS_MAKE_MAX + 2)
		return -EAGAIN;
	(*made)++;
	return -ENODATA;
}

TEST(rows_that_were_too_many_to_make_at_once_are_asked_for_again)
{
	u64 end_va = 0x100000, step = 0x10, order, all;
	struct code_rows code = { 0 };
	struct rows *rows = NULL;
	u32 made = 0;

	for (u32 i = 0; i < CODE_ROWS_MAKE_MAX + 4; i++)
		code_rows_add(&code, &(struct code_place){ .start_va = 0x1000 + i * step,
							   .end_va = 0x1000 + (i + 1) * step }, NULL);
	order = code_rows_order(&code, 0x1000, end_va);
	(void)code_rows_join(&code, 0x1000, end_va, 0, make_none, &made, &rows);
	EQ(made, CODE_ROWS_MAKE_MAX);
	OK(code_rows_order(&code, 0x1000, end_va) > order);
	/* Two more, then whoever makes them has had enough. */
	order = code_rows_order(&code, 0x1000, end_va);
	all = code_rows_order(&code, 0, ~0ull);
	(void)code_rows_join(&code, 0x1000, end_va, 0, make_none, &made, &rows);
	EQ(made, CODE_ROWS_MAKE_MAX + 2);
	OK(code_rows_order(&code, 0x1000, end_va) > order && code_rows_order(&code, 0, ~0ull) > all);
	made = 0;
	(void)code_rows_join(&code, 0x1000, end_va, 0, make_none, &made, &rows);
	EQ(made, 2);
	order = code_rows_order(&code, 0x1000, end_va);
	(void)code_rows_join(&code, 0x1000, end_va, 0, make_none, &made, &rows);
	EQ(made, 2);
	EQ(code_rows_order(&code, 0x1000, end_va), order);
	OK(!rows);
	code_rows_done(&code);
}

TEST(files_of_the_list_are_taken_once)
{
	struct taken t = { .process.pid = (u32)getpid() };
	struct object one, two;
	struct entry second = { .file = &two, .bytes = sizeof(two) };
	struct entry first = { .file = &one, .bytes = sizeof(one) };
	struct descriptor d = { 1, 1, &first, &first };
	struct gdb_jit jit = { .descriptor_va = (u64)(uintptr_t)&d };

	object_init(&one, 0x7000, 0x40);
	object_init(&two, 0x8000, 0x40);
	gdb_jit_look(&jit, &t.process, take, &t);
	EQ(t.files, 1);
	gdb_jit_look(&jit, &t.process, take, &t);
	EQ(t.files, 1);
	second.next = &first;
	d.first = d.changed = &second;
	gdb_jit_look(&jit, &t.process, take, &t);
	EQ(t.files, 2);
	STREQ(name_at(&t.table, 0x8000), "first");
	/* Gone, and back with other code. */
	d.first = &first;
	gdb_jit_look(&jit, &t.process, take, &t);
	d.first = &second;
	gdb_jit_look(&jit, &t.process, take, &t);
	EQ(t.files, 3);
	gdb_jit_forget(&jit);
	gdb_jit_look(&jit, &t.process, take, &t);
	EQ(t.files, 5);
	EQ(jit.dropped, 0);
	gdb_jit_done(&jit);
	taken_done(&t);
}

TEST(lists_that_make_no_sense_end)
{
	struct taken t = { .process.pid = (u32)getpid() };
	struct object o;
	struct entry circle = { .file = &o, .bytes = sizeof(o) }, tail = { .file = NULL, .bytes = sizeof(o) };
	struct entry huge = { .file = &o, .bytes = ~0ull }, astray = { .next = (void *)8 };
	struct descriptor d = { 1, 1, &circle, &circle };
	struct gdb_jit jit = { .descriptor_va = (u64)(uintptr_t)&d };

	object_init(&o, 0x7000, 0x40);
	circle.next = &tail;
	tail.next = &tail;		/* not the first: only the limit ends it */
	for (u32 i = 0; i < 8; i++)
		gdb_jit_look(&jit, &t.process, take, &t);
	EQ(t.files, 1);
	OK(jit.known_count <= GDB_JIT_ENTRIES_MAX && jit.dropped);
	d.first = &huge;
	gdb_jit_look(&jit, &t.process, take, &t);
	d.first = &astray;
	gdb_jit_look(&jit, &t.process, take, &t);
	d.version = 2;
	d.first = &circle;
	gdb_jit_look(&jit, &t.process, take, &t);
	jit.descriptor_va = 8;
	gdb_jit_look(&jit, &t.process, take, &t);
	EQ(t.files, 1);
	gdb_jit_done(&jit);
	taken_done(&t);
}
