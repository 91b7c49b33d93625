/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The unwind rows of one ELF file: for each address of its text, the rule
 * that leads to the caller. Compiled from .eh_frame or .debug_frame by
 * rows_compile() (in the reader process), kept on disk by exe/rows_cache.h,
 * copied into BPF maps by the tracer, page by page.
 *
 * Rows are grouped by 64 KiB pages of ELF virtual addresses, as the kernel
 * half reads them. The first row of a page always has low == 0: it repeats
 * the rule that holds at the page's start. A row holds until the next one.
 *
 * A struct rows is one flat block of bytes, so that it can be written to a
 * file and sent between processes as it is:
 *
 *	struct rows | rules[rule_count] | pages[page_count] | low[row_count] | rule[row_count]
 *
 * Invariants (rows_check() proves them; whoever got the bytes from elsewhere
 * calls it first): pages ascend by number; their extents follow each other
 * without gap and end at row_count; within a page, low ascends strictly and
 * starts at 0; every rule index is below rule_count; a page has at most
 * ROWS_PER_PAGE_MAX rows.
 */
#ifndef EXE_ROWS_H
#define EXE_ROWS_H

#include <stdbool.h>
#include <stddef.h>

#include "abi.h"

#define ROWS_MAGIC "wickrow4"
#define ROWS_PAGE_SHIFT PAGE_ROWS_SHIFT
#define ROWS_PER_PAGE_MAX PAGE_ROWS_MAX
#define ROWS_MAX (16u << 20)	/* rows of one file; libLLVM has 0.8 million */

struct rows_page {
	u32 number;	/* ea >> ROWS_PAGE_SHIFT */
	u32 first;	/* index of its first row */
	u32 count;
};

struct rows {
	char magic[8];
	u32 bytes;		/* of the whole block */
	u16 machine;		/* e_machine */
	u16 rule_count;
	u32 page_count;
	u32 row_count;
	u32 dropped_count;	/* rows left out: a limit was reached or the CFI was malformed */
	u32 unswept;		/* number of the rule ROWS_UNSWEPT or ROWS_UNREAD: no file has both; 0: there is none */
	u64 text_bytes;		/* address space covered by FDEs */
};

static inline const struct unwind_rule *rows_rules(const struct rows *rows)
{
	return (const void *)(rows + 1);
}

static inline const struct rows_page *rows_pages(const struct rows *rows)
{
	return (const void *)(rows_rules(rows) + rows->rule_count);
}

static inline const u16 *rows_low(const struct rows *rows)
{
	return (const void *)(rows_pages(rows) + rows->page_count);
}

static inline const u16 *rows_rule(const struct rows *rows)
{
	return rows_low(rows) + rows->row_count;
}

/*
 * The rule of code that has no call frame information, and was too much to look through with the rest: RULE_NONE to
 * whoever unwinds. A part of it is looked through when a stack ends there (exe/rows_part.h).
 */
#define ROWS_UNSWEPT ((struct unwind_rule){ .kind = RULE_NONE, .cfa_off = 1 })

/* ... that has call frame information, which was not read with the rest: nobody may go by it until it was. */
#define ROWS_UNREAD ((struct unwind_rule){ .kind = RULE_NONE, .cfa_off = 2 })

static inline bool rows_is_unswept(const struct unwind_rule *rule)
{
	return rule->kind == RULE_NONE && rule->cfa_off;
}

static inline bool rows_is_unread(const struct unwind_rule *rule)
{
	return rule->kind == RULE_NONE && rule->cfa_off == ROWS_UNREAD.cfa_off;
}

/* 0 if the block of that many bytes is a struct rows that keeps the invariants, else -EBADMSG. */
int rows_check(const struct rows *rows, size_t bytes);

/* The same part by part, for whoever has but parts of it. */
bool rows_head_ok(const struct rows *rows, size_t bytes);
bool rows_rule_ok(const struct unwind_rule *rule);
bool rows_pages_ok(const struct rows *rows, const struct rows_page *pages);
bool rows_ok(const u16 *low, const u16 *rule, u32 count, u32 rule_count);	/* of one page */

/* The page with that number, or NULL. */
const struct rows_page *rows_pages_find(const struct rows_page *pages, u32 count, u64 number);

/* The rule at an ELF address, or NULL where the file has no row. */
const struct unwind_rule *rows_find(const struct rows *rows, u64 ea);

#endif
