/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwind rows in BPF memory, by page: 64 KiB of text. The rows of all files
 * stay where they are (exe/rows_file.h); here is what stacks need. A page is
 * put into place when the first stack comes by, and makes room by age.
 *
 * Memory is in chunks. Pages are put into one chunk, one behind the other,
 * until it is full, then into the next. When few chunks are left, the next one
 * in turn is cleaned: pages that were used lately are moved on, the others
 * evicted, and what it held is given back as a whole. So there are no gaps to
 * look after, and any page finds its place. "Lately" is since the hand that
 * cleans was half way round (a clock with two hands). The kernel half marks
 * pages as used when it searches them, which it does not do for addresses that
 * it remembers (struct place): those go on without.
 *
 * A page's entry is replaced by one store. What an entry said a moment ago may
 * still be in use by a program on another CPU, which looks at the entry once
 * more when it is done: a cleaned chunk is used again a tenth of a second later.
 *
 * The tracer's thread owns it.
 */
#ifndef TRACER_ROW_PAGES_H
#define TRACER_ROW_PAGES_H

#include <stdbool.h>

#include "abi.h"
#include "base/cleanup.h"

struct row_pages;
struct rows_file;
struct rows_part;
struct tracer_bpf;

struct row_pages_stats {
	u64 bytes;		/* memory taken */
	u64 used_bytes;		/* ... of it, by pages that are in place */
	u64 installed, evicted;	/* pages */
	u64 borrowed;		/* pages that found no room, and served one stack */
	u64 unreadable;		/* pages that could not be read, and have no rows from then on */
	u64 files_full;		/* files that did not fit the table of pages */
	u64 rules_full;		/* rules that did not fit; their rows say RULE_NONE */
	u64 pages_read;		/* of large files, when stacks came by */
	u64 parts_swept;	/* pages of code without call frame information, when stacks ended there */
	u64 parts_failed;	/* of both, what was not to be had */
};

/* Of a file: its entries in the table of pages. Zeroed: none. */
struct row_pages_range {
	u32 first, count;
	u32 first_number;	/* page number of the first */
};

/* skel NULL: in memory of our own. */
int row_pages_new(struct tracer_bpf *skel, u32 max_bytes, struct row_pages **ret_pages);
void row_pages_free(struct row_pages *pages);
DEFINE_CLEANUP(struct row_pages *, row_pages_free)

/* A file whose code lies in ELF addresses [start_ea, end_ea); it is taken in any case. -ENOSPC, -E2BIG, -ENOMEM. */
int row_pages_add(struct row_pages *pages, struct rows_file *file, u64 start_ea, u64 end_ea,
		  struct row_pages_range *ret_range);

/* Nobody reads its entries any more. */
void row_pages_give(struct row_pages *pages, u32 first);

enum row_part { ROW_PART_NONE, ROW_PART_WANTED, ROW_PART_COMING };

/*
 * A stack has ended at an address of a file, given by its first entry. Where the rows of that code were left for later
 * (exe/rows_part.h), they are wanted: from then on its page is absent, until row_pages_put_part() is called.
 */
enum row_part row_pages_want_part(struct row_pages *pages, u32 first, u64 ea, struct rows_part *ret_part);

/* Is that entry's page wanted, and not here yet? */
bool row_pages_part_is_coming(const struct row_pages *pages, u32 index);

/* The rows of a part, by the number of its page; NULL if none are to be had. */
void row_pages_put_part(struct row_pages *pages, u32 first, u64 number, const struct rows_file *swept);

/* Every tenth of a second or so: sees to it that there is room. */
void row_pages_collect(struct row_pages *pages, u64 now_ns);

/* The entry at that index as the kernel half sees it, or NULL. */
const struct page_entry *row_pages_at(const struct row_pages *pages, u32 index);

/*
 * The same, put into place if it was absent: it is absent still where its code was not read yet, which is to be wanted
 * then. What is returned holds until the next call.
 */
struct page_entry *row_pages_need(struct row_pages *pages, u32 index);

/* What the entries refer to. */
const struct rows_chunk *row_pages_chunk(const struct row_pages *pages, u32 index);
const struct unwind_rule *row_pages_rule(const struct row_pages *pages, u32 index);

struct row_pages_stats row_pages_stats(const struct row_pages *pages);

#endif
