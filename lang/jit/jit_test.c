// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "exe/rows.h"
#include "lang/jit/code_rows.h"
#include "lang/jit/code_table.h"
#include "lang/jit/jitdump.h"
#include "lang/jit/perf_map.h"
#include "lang/lang.h"
#include "proc/maps.h"
#include "test.h"

static const char *name_at(struct code_table *table, u64 va)
{
	const struct code_piece *piece = code_table_find(table, va);

	return piece ? code_table_text(table, piece->name) : NULL;
}

TEST(perf_map_lines_become_code)
{
	static const char text[] = "1000 20 one\n0x1020 0x10 two three\nnonsense\n\nffffffffffffffff0 1 long\n"
				   "1040 0 empty\n1050 10 cut";
	struct code_table table = { 0 };

	EQ(perf_map_parse(&table, text, sizeof(text) - 1), sizeof(text) - 1 - strlen("1050 10 cut"));
	STREQ(name_at(&table, 0x1000), "one");
	STREQ(name_at(&table, 0x101f), "one");
	STREQ(name_at(&table, 0x102f), "two three");
	OK(!name_at(&table, 0x1030));
	OK(!name_at(&table, 0x1040));
	OK(!name_at(&table, 0xfff));
	EQ(table.count, 2);
	EQ(table.dropped, 1);
	code_table_done(&table);
}

TEST(code_that_was_told_last_is_there)
{
	struct code_table table = { 0 };
	u64 generation;

	code_table_add(&table, 0x1000, 0x100, "old", 3, NULL, 0, 0);
	code_table_add(&table, 0x1040, 0x10, "inner", 5, "f.c", 3, 7);
	STREQ(name_at(&table, 0x1044), "inner");
	STREQ(name_at(&table, 0x1090), "old");
	EQ(code_table_find(&table, 0x1044)->line, 7);
	STREQ(code_table_text(&table, code_table_find(&table, 0x1044)->file), "f.c");
	generation = table.generation;
	code_table_add(&table, 0x1000, 0x100, "new", 3, NULL, 0, 0);
	OK(table.generation > generation);
	STREQ(name_at(&table, 0x1044), "new");
	STREQ(name_at(&table, 0x1000), "new");
	code_table_clear(&table);
	OK(!name_at(&table, 0x1000));
	code_table_done(&table);
}

TEST(code_is_found_whether_it_was_sorted_or_not)
{
	struct code_table table = { 0 };
	u32 missing = 0;

	/* From high to low, with a question after each; then all are asked for, and once more in their order. */
	for (u64 i = 5000; i > 0; i--) {
		code_table_add(&table, i * 0x10, 0x10, "f", 1, NULL, 0, (u32)i);
		missing += !code_table_find(&table, i * 0x10 + 0xf) || code_table_find(&table, i * 0x10 - 1) != NULL;
	}
	for (u64 i = 1; i <= 5000; i++)
		missing += code_table_find(&table, i * 0x10)->line != i;
	EQ(code_table_from(&table, 0x30), 2);
	for (u64 i = 1; i <= 5000; i++)
		missing += code_table_find(&table, i * 0x10)->line != i;
	EQ(missing, 0);
	/* What is told later is there, in either part. */
	code_table_add(&table, 0x10, 0x20, "later", 5, NULL, 0, 0);
	STREQ(name_at(&table, 0x25), "later");
	code_table_move(&table, 0x25, 0x100000, 0x10);
	STREQ(name_at(&table, 0x10000f), "later");
	code_table_move(&table, 0x7fff0000, 0x200000, 0x10);
	OK(!name_at(&table, 0x200000));
	code_table_done(&table);
}

static void add_word(struct buf *b, u64 value, size_t bytes)
{
	buf_add(b, &value, bytes);
}

static void add_load(struct buf *b, u64 va, const char *name)
{
	add_word(b, 0, 4);
	add_word(b, 16 + 40 + strlen(name) + 1 + 4, 4);
	add_word(b, 1, 8);
	add_word(b, 0, 8);
	add_word(b, va, 8);
	add_word(b, va, 8);
	add_word(b, 0x20, 8);
	add_word(b, 1, 8);
	buf_add(b, name, strlen(name) + 1);
	add_word(b, 0x90909090, 4);
}

static void add_debug_info(struct buf *b, u64 va, const char *file, u32 line)
{
	add_word(b, 2, 4);
	add_word(b, 16 + 32 + strlen(file) + 1, 4);
	add_word(b, 1, 8);
	add_word(b, va, 8);
	add_word(b, 1, 8);
	add_word(b, va, 8);
	add_word(b, line, 4);
	add_word(b, 0, 4);
	buf_add(b, file, strlen(file) + 1);
}

TEST(jitdump_records_become_code)
{
	struct code_table table = { 0 };
	struct buf b;

	buf_init(&b, 4096);
	add_debug_info(&b, 0x5000, "a.jl", 12);
	add_load(&b, 0x5000, "julia_f");
	add_debug_info(&b, 0x6000, "b.jl", 34);
	add_load(&b, 0x6000, "g");
	add_word(&b, 1, 4);	/* g moves */
	add_word(&b, 16 + 48, 4);
	add_word(&b, 1, 8);
	add_word(&b, 0, 8);
	add_word(&b, 0, 8);
	add_word(&b, 0x6000, 8);
	add_word(&b, 0x7000, 8);
	add_word(&b, 0x20, 8);
	add_word(&b, 1, 8);
	EQ(jitdump_parse(&table, b.data, b.len), (long)b.len);
	STREQ(name_at(&table, 0x501f), "julia_f");
	EQ(code_table_find(&table, 0x5000)->line, 12);
	STREQ(code_table_text(&table, code_table_find(&table, 0x5000)->file), "a.jl");
	STREQ(name_at(&table, 0x7000), "g");
	EQ(code_table_find(&table, 0x7000)->line, 34);
	STREQ(code_table_text(&table, code_table_find(&table, 0x7000)->file), "b.jl");
	code_table_clear(&table);
	/* All but the last byte: the last record waits. */
	OK(jitdump_parse(&table, b.data, b.len - 1) < (long)b.len - 1);
	STREQ(name_at(&table, 0x6000), "g");
	OK(!name_at(&table, 0x7000));
	memset(b.data, 0, 8);
	EQ(jitdump_parse(&table, b.data, b.len), -EBADMSG);
	code_table_done(&table);
	buf_done(&b);
}

TEST(jitdump_header_is_checked)
{
	u32 header[10] = { 0x4a695444, 1, 40 };

	EQ(jitdump_header(header, sizeof(header)), 40);
	EQ(jitdump_header(header, 8), -EBADMSG);
	header[0] = 0x4454694a;
	EQ(jitdump_header(header, sizeof(header)), -EBADMSG);
}

static void write_map(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");

	OK(file != NULL);
	if (file) {
		fputs(text, file);
		fclose(file);
	}
}

TEST(code_that_is_told_of_after_the_first_question_is_known_at_the_next)
{
	const struct lang_ops *ops = lang_list[LANG_JIT];
	_cleanup_(maps_freep) struct maps *maps = maps_new();
	struct lang_process process = { .pid = (u32)getpid(), .maps = maps };
	struct runtime_slot slot;
	char path[64];
	void *state;

	maps_add(maps, &(struct mapping){ .start_va = 0x1000, .end_va = 0x2000, .kind = MAPPING_ANON, .path = "" });
	maps_add(maps, &(struct mapping){ .start_va = 0x3000, .end_va = 0x4000, .kind = MAPPING_FILE, .path = "/f" });
	EQ(ops->attach(&process, NULL, NULL, &slot, &state), 0);
	OK(!ops->owns(state, &process, 0x1000, 0x1001));

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	write_map(path, "1000 20 one\n3000 20 two\n");
	for (u32 i = 0; i < 30000 && !ops->owns(state, &process, 0x1000, 0x1001); i++)
		usleep(1000);
	OK(!ops->owns(state, &process, 0x1000, 0x2000));	/* not all of it */
	OK(!ops->owns(state, &process, 0x3000, 0x3001));	/* a file's */
	OK(ops->owns(state, &process, 0x1000, 0x1001));
	unlink(path);
	ops->detach(state);
}

#if defined(__x86_64__)
TEST(code_that_nobody_tells_of_is_looked_through_where_a_stack_has_ended)
{
	/* push %rbx; xor %eax,%eax ...; pop %rbx; ret */
	static const u8 code[] __attribute__((aligned(16))) = {
		0x53, 0x31, 0xc0, 0x31, 0xc0, 0x31, 0xc0, 0x31, 0xc0, 0x31, 0xc0, 0x31, 0xc0, 0x31, 0xc0, 0x31, 0xc0,
		0x31, 0xc0, 0x31, 0xc0, 0x31, 0xc0, 0x31, 0xc0, 0x31, 0xc0, 0x31, 0xc0, 0x31, 0xc0, 0x31, 0xc0, 0x5b,
		0xc3,
	};
	const struct lang_ops *ops = lang_list[LANG_JIT];
	_cleanup_(maps_freep) struct maps *maps = maps_new();
	struct lang_process process = { .pid = (u32)getpid(), .maps = maps };
	u64 va = (u64)(uintptr_t)code, end_va = va + sizeof(code), base_va = va & ~0xffffull;
	_cleanup_(freep) struct rows *rows = NULL;
	const struct unwind_rule *rule;
	struct runtime_slot slot;
	void *state;

	maps_add(maps, &(struct mapping){ .start_va = va, .end_va = end_va, .kind = MAPPING_ANON, .path = "" });
	EQ(ops->attach(&process, NULL, NULL, &slot, &state), 0);
	EQ(ops->rows_order(state, &process, 0, ~0ull), 0);
	ops->meet(state, &process, end_va);		/* not in a mapping */
	EQ(ops->rows_order(state, &process, 0, ~0ull), 0);
	ops->meet(state, &process, va + 1);
	EQ(ops->rows_order(state, &process, 0, ~0ull), 1);
	ops->meet(state, &process, va + 2);		/* the same code, and not again so soon */
	EQ(ops->rows_order(state, &process, 0, ~0ull), 1);
	EQ(ops->rows(state, &process, va, end_va, base_va, &rows), 0);
	rule = rows_find(rows, va + 1 - base_va);
	OK(rule && rule->kind == RULE_SWEPT);
	EQ(rule->cfa_off, 16);
	ops->detach(state);
}
#endif

TEST(code_that_was_told_of_is_told_from_what_a_stack_has_met)
{
	struct code_rows code = { 0 };

	code_rows_add(&code, &(struct code_place){ .start_va = 0x1000, .end_va = 0x2000, .is_met = true }, NULL);
	OK(!code_rows_told(&code, 0x1000, 0x2000));
	code_rows_add(&code, &(struct code_place){ .start_va = 0x3000, .end_va = 0x4000 }, NULL);
	OK(code_rows_told(&code, 0x3fff, 0x5000));
	OK(!code_rows_told(&code, 0x2000, 0x3000));
	OK(!code_rows_told(&code, 0x4000, 0x5000));
	code_rows_done(&code);
}

TEST(a_long_map_is_read_in_several_looks)
{
	const struct lang_ops *ops = lang_list[LANG_JIT];
	_cleanup_(maps_freep) struct maps *maps = maps_new();
	struct lang_process process = { .pid = (u32)getpid(), .maps = maps };
	_cleanup_(buf_done) struct buf text;
	struct runtime_slot slot;
	char path[64], filler[4096];
	void *state;

	memset(filler, 'x', sizeof(filler));
	filler[sizeof(filler) - 1] = '\n';
	buf_init(&text, 32u << 20);
	for (u32 i = 0; i < (20u << 20) / sizeof(filler); i++)
		buf_add(&text, filler, sizeof(filler));
	buf_addf(&text, "1000 20 last\n");
	EQ(buf_err(&text), 0);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	write_map(path, text.data);

	EQ(ops->attach(&process, NULL, NULL, &slot, &state), 0);
	OK(!ops->owns(state, &process, 0x1000, 0x1001));	/* not yet */
	for (u32 i = 0; i < 30000 && !ops->owns(state, &process, 0x1000, 0x1001); i++)
		usleep(1000);
	OK(ops->owns(state, &process, 0x1000, 0x1001));
	unlink(path);
	ops->detach(state);
}
