// SPDX-License-Identifier: Apache-2.0
/*
 * rows_dump FILE [DEBUG_FILE]: prints the unwind rows of an ELF file, one a line:
 *	ADDRESS KIND CFA_REG CFA_OFF CFA_ADD RA_KIND RA_OFF FP_KIND FP_OFF
 * rows_dump -t FILE ...: prints what each costs (CPU time) and how it turned out instead.
 * rows_dump -p FILE ...: compiles each page by page, too, as those of large files are, and prints what differs.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "exe/elf.h"
#include "exe/rows.h"
#include "exe/rows_compile.h"
#include "exe/rows_file.h"
#include "exe/rows_part.h"
#include "lang/lang.h"

static const char *const kinds[] = {
	"none", "cfa", "deref", "plt", "signal", "end", "frame", "switch", "cfa", "deref",
};

static void print_rows(const struct rows *rows)
{
	for (u32 p = 0; p < rows->page_count; p++) {
		const struct rows_page *page = &rows_pages(rows)[p];

		for (u32 i = page->first; i < page->first + page->count; i++) {
			const struct unwind_rule *r = &rows_rules(rows)[rows_rule(rows)[i]];

			printf("%llx %s %u %d %d %u %d %u %d\n",
			       (u64)page->number << ROWS_PAGE_SHIFT | rows_low(rows)[i], kinds[r->kind], r->cfa_reg,
			       r->cfa_off, r->cfa_add, r->saved >> 4, r->ra_off, r->saved & 15, r->fp_off);
		}
	}
}

static double now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return ts.tv_sec * 1e3 + ts.tv_nsec / 1e6;
}

static void print_costs(const char *path, const struct rows *rows, double ms)
{
	u32 none = 0;

	for (u32 i = 0; i < rows->row_count; i++)
		none += rows_rules(rows)[rows_rule(rows)[i]].kind == RULE_NONE;
	printf("%s: %.2f ms, %u rows (%u none), %u rules, %u pages, %u bytes, %u dropped, text %llu\n", path, ms,
	       rows->row_count, none, rows->rule_count, rows->page_count, rows->bytes, rows->dropped_count,
	       rows->text_bytes);
}

static int open_exe(const char *path, struct exe **ret_exe)
{
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	int r = exe_map(fd, lang_files, ret_exe);

	if (r < 0)
		fprintf(stderr, "%s: %s\n", path, strerror(-r));
	return r;
}

/* What is known of an address when all that was left for later has come: by the rows of its page, or the file's. */
static struct unwind_rule rule_at(const struct rows *rows, const struct rows *part, u64 ea)
{
	const struct unwind_rule *rule = rows_find(rows, ea), none = { .kind = RULE_NONE };

	if (!rule || rule->kind == RULE_NONE)
		rule = part ? rows_find(part, ea) : NULL;
	return rule && rule->kind != RULE_NONE ? *rule : none;
}

/* How many rows of one page of the whole are others by page; *ret_unread if it was left for later at all. */
static u32 compare_page(const struct exe *exe, const struct rows *whole, const struct rows_page *page,
			const struct rows_file *later, const struct rows *head, bool *ret_unread)
{
	_cleanup_(freep) struct rows *part_rows = NULL;
	struct rows_part part;
	u64 ea = (u64)page->number << ROWS_PAGE_SHIFT;
	u32 differ = 0;

	for (u32 i = page->first; i < page->first + page->count && !part_rows; i++)
		if (rows_part_find(later, ea + rows_low(whole)[i], &part))
			(void)rows_part_compile(exe, &part, &part_rows);
	*ret_unread = part_rows;
	for (u32 i = page->first; i < page->first + page->count; i++) {
		struct unwind_rule of_whole = rule_at(whole, NULL, ea + rows_low(whole)[i]);
		struct unwind_rule of_page = rule_at(head, part_rows, ea + rows_low(whole)[i]);

		if (!memcmp(&of_whole, &of_page, sizeof(of_page)))
			continue;
		if (!differ++)
			printf("# at %llx: %s %d, by page %s %d\n", ea + rows_low(whole)[i], kinds[of_whole.kind],
			       of_whole.cfa_off, kinds[of_page.kind], of_page.cfa_off);
	}
	return differ;
}

static int compare(const char *path)
{
	_cleanup_(exe_freep) struct exe *exe = NULL;
	_cleanup_(freep) struct rows *whole = NULL, *head = NULL;
	_cleanup_(rows_file_freep) struct rows_file *later = NULL;
	struct rows *copy = NULL;
	u32 differ = 0, unread = 0;

	if (open_exe(path, &exe) < 0 || rows_compile(exe, NULL, &whole) < 0 ||
	    rows_compile_within(exe, NULL, 0, &head) < 0 || rows_compile_within(exe, NULL, 0, &copy) < 0) {
		fprintf(stderr, "%s: no rows\n", path);
		return 1;
	}
	later = rows_file_of(copy);
	for (u32 p = 0; later && p < whole->page_count; p++) {
		bool is_unread;

		differ += compare_page(exe, whole, &rows_pages(whole)[p], later, head, &is_unread);
		unread += is_unread;
	}
	printf("%s: %u of %u pages by page, %u of %u rows differ\n", path, unread, whole->page_count, differ,
	       whole->row_count);
	return 0;
}

static int dump(const char *path, const char *debug_path, bool timed)
{
	_cleanup_(exe_freep) struct exe *exe = NULL, *debug = NULL;
	struct rows *rows;
	double start = now_ms();
	int r;

	r = open_exe(path, &exe);
	if (r < 0 || (debug_path && open_exe(debug_path, &debug) < 0))
		return 1;
	r = rows_compile(exe, debug, &rows);
	if (r < 0) {
		fprintf(stderr, "%s: no rows: %s\n", path, strerror(-r));
		return 1;
	}
	if (rows_check(rows, rows->bytes) < 0)
		fprintf(stderr, "%s: rows break their own rules\n", path);
	if (timed)
		print_costs(path, rows, now_ms() - start);
	else
		print_rows(rows);
	free(rows);
	return 0;
}

int main(int argc, char **argv)
{
	int failed = 0;

	if (argc < 2) {
		fprintf(stderr, "usage: rows_dump FILE [DEBUG_FILE] | -t FILE ... | -p FILE ...\n");
		return 2;
	}
	if (argv[1][0] != '-')
		return dump(argv[1], argc > 2 ? argv[2] : NULL, false);
	for (int i = 2; i < argc; i++)
		failed |= strcmp(argv[1], "-p") ? dump(argv[i], NULL, true) : compare(argv[i]);
	return failed;
}
