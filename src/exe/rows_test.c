// SPDX-License-Identifier: Apache-2.0
#include "exe/rows.h"

#include <errno.h>

#include "base/cleanup.h"
#include "exe/rows_build.h"
#include "test.h"

static struct unwind_rule sp_plus(int off)
{
	return (struct unwind_rule){ .kind = RULE_CFA, .cfa_reg = 7, .cfa_off = off, .ra_off = -8 };
}

static void add(struct rows_build *build, u64 ea, int off)
{
	struct unwind_rule rule = sp_plus(off);

	if (!off)
		rule = (struct unwind_rule){ .kind = RULE_NONE };
	rows_build_add(build, ea, &rule);
}

static struct rows *finish(struct rows_build *build)
{
	struct rows *rows;

	EQ(rows_build_finish(build, 62, 0, &rows), 0);
	rows_build_free(build);
	EQ(rows_check(rows, rows->bytes), 0);
	return rows;
}

/* CFA offset at an address; 0 for RULE_NONE, -1 without row. */
static int off_at(const struct rows *rows, u64 ea)
{
	const struct unwind_rule *rule = rows_find(rows, ea);

	return !rule ? -1 : rule->kind == RULE_NONE ? 0 : rule->cfa_off;
}

TEST(rows_hold_until_the_next)
{
	struct rows_build *build = rows_build_new();
	struct rows *rows;

	add(build, 0x1010, 8);
	add(build, 0x1011, 16);
	add(build, 0x1020, 16);
	add(build, 0x1030, 0);
	rows = finish(build);
	EQ(off_at(rows, 0x100f), 0);
	EQ(off_at(rows, 0x1010), 8);
	EQ(off_at(rows, 0x1011), 16);
	EQ(off_at(rows, 0x102f), 16);
	EQ(off_at(rows, 0x1030), 0);
	EQ(off_at(rows, 0x10000), -1);
	EQ(rows->row_count, 4);		/* one for the start of the page; the equal one is merged */
	EQ(rows->rule_count, 3);
	free(rows);
}

TEST(rows_repeat_a_rule_on_every_page_it_covers)
{
	struct rows_build *build = rows_build_new();
	struct rows *rows;

	add(build, 0x1fff0, 8);
	add(build, 0x40000, 16);
	add(build, 0x50000, 0);
	add(build, 0x90000, 24);
	add(build, 0x90001, 0);
	rows = finish(build);
	EQ(off_at(rows, 0x1ffef), 0);
	EQ(off_at(rows, 0x20000), 8);
	EQ(off_at(rows, 0x3ffff), 8);
	EQ(off_at(rows, 0x40000), 16);
	EQ(off_at(rows, 0x4ffff), 16);
	EQ(off_at(rows, 0x50000), -1);
	EQ(off_at(rows, 0x90000), 24);
	EQ(off_at(rows, 0x90001), 0);
	EQ(rows->page_count, 5);
	free(rows);
}

TEST(rows_take_the_last_rule_told_for_an_address)
{
	struct rows_build *build = rows_build_new();
	struct rows *rows;

	add(build, 0x10, 8);
	add(build, 0x10, 16);
	add(build, 0x20, 0);
	add(build, 0x20, 24);
	rows = finish(build);
	EQ(off_at(rows, 0x10), 16);
	EQ(off_at(rows, 0x20), 24);
	free(rows);
}

TEST(rows_past_the_limit_of_a_page_are_dropped_and_leave_none)
{
	struct rows_build *build = rows_build_new();
	struct rows *rows;

	for (u32 i = 0; i < 0x10000; i++)
		add(build, i, 8 + i % 2 * 8);
	add(build, 0x10000, 0);
	rows = finish(build);
	EQ(rows->row_count, ROWS_PER_PAGE_MAX);
	EQ(rows->dropped_count, 0x10000 - ROWS_PER_PAGE_MAX);
	EQ(off_at(rows, ROWS_PER_PAGE_MAX - 2), 8);
	EQ(off_at(rows, ROWS_PER_PAGE_MAX - 1), 0);
	EQ(off_at(rows, 0xffff), 0);
	free(rows);
}

TEST(rows_past_the_limit_of_rules_are_dropped_and_have_none)
{
	struct rows_build *build = rows_build_new();
	struct rows *rows;

	for (u32 i = 0; i < RULES_MAX + 10; i++)
		add(build, 16 * i, 8 + i);
	rows = finish(build);
	EQ(rows->rule_count, RULES_MAX);
	EQ(rows->dropped_count, 11);	/* RULE_NONE is one of them */
	EQ(off_at(rows, 16 * (RULES_MAX - 2)), 8 + RULES_MAX - 2);
	EQ(off_at(rows, 16 * (RULES_MAX - 1)), 0);
	free(rows);
}

TEST(rows_of_an_endless_function_are_bounded)
{
	struct rows_build *build = rows_build_new();
	struct rows *rows;

	add(build, 0x1000, 8);
	add(build, 1ull << 47, 0);
	rows = finish(build);
	EQ(rows->page_count, ROWS_PAGES_MAX);
	OK(rows->dropped_count);
	free(rows);
}

TEST(rows_build_survives_any_failing_allocation)
{
	for (long n = 0;; n++) {
		struct rows_build *build;
		struct rows *rows = NULL;
		int r = -ENOMEM;
		long asked;

		test_alloc_fail(n);
		build = rows_build_new();
		for (u32 i = 0; build && i < 5000; i++)
			add(build, 0x100 * i, 8 + 8 * i % 3);
		if (build)
			r = rows_build_finish(build, 62, 0, &rows);
		asked = test_alloc_reset();
		rows_build_free(build);
		free(rows);
		if (asked <= n) {
			EQ(r, 0);
			return;
		}
		EQ(r, -ENOMEM);
	}
}

TEST(rows_without_any_row_are_no_data)
{
	_cleanup_(rows_build_freep) struct rows_build *build = rows_build_new();
	struct rows *rows;

	add(build, 0, 0);
	EQ(rows_build_finish(build, 62, 0, &rows), -ENODATA);
}

TEST(rows_check_refuses_whatever_breaks_an_invariant)
{
	struct rows_build *build = rows_build_new();
	struct rows *rows;

	add(build, 0x1000, 8);
	add(build, 0x1001, 16);
	add(build, 0x20000, 24);
	add(build, 0x20010, 0);
	rows = finish(build);
	EQ(rows_check(rows, rows->bytes - 1), -EBADMSG);
	EQ(rows_check(rows, sizeof(*rows) - 1), -EBADMSG);
	EQ(rows_check(rows, 0), -EBADMSG);
#define REFUSED(place, lie)						\
	do {								\
		__typeof__(place) kept = place;				\
		place = lie;						\
		EQ(rows_check(rows, rows->bytes), -EBADMSG);		\
		place = kept;						\
		EQ(rows_check(rows, rows->bytes), 0);			\
	} while (0)
	REFUSED(rows->magic[0], 'x');
	REFUSED(rows->row_count, rows->row_count + 1);
	REFUSED(rows->row_count, 0xffffffff);
	REFUSED(rows->page_count, 0xffffffff);
	REFUSED(rows->rule_count, 0);
	REFUSED(rows->rule_count, 0xffff);
	REFUSED(((struct rows_page *)rows_pages(rows))[1].number, 0);
	REFUSED(((struct rows_page *)rows_pages(rows))[1].first, 0);
	REFUSED(((struct rows_page *)rows_pages(rows))[0].count, 0);
	REFUSED(((struct rows_page *)rows_pages(rows))[0].count, 0xffffffff);
	REFUSED(((u16 *)rows_low(rows))[0], 1);
	REFUSED(((u16 *)rows_low(rows))[2], 1);
	REFUSED(((u16 *)rows_rule(rows))[2], rows->rule_count);
	REFUSED(((struct unwind_rule *)rows_rules(rows))[1].kind, RULE_SWEPT_DEREF + 1);
	REFUSED(((struct unwind_rule *)rows_rules(rows))[1].cfa_reg, 32);
	REFUSED(((struct unwind_rule *)rows_rules(rows))[1].saved, 0x20);
	REFUSED(((struct unwind_rule *)rows_rules(rows))[1].saved, 0x03);
	free(rows);
}
