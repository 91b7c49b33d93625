// SPDX-License-Identifier: Apache-2.0
/*
 * rows_dump FILE [DEBUG_FILE]: prints the unwind rows of an ELF file, one a line:
 *	ADDRESS KIND CFA_REG CFA_OFF CFA_ADD RA_KIND RA_OFF FP_KIND FP_OFF
 * rows_dump -t FILE ...: prints what each costs (CPU time) and how it turned out instead.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "exe/elf.h"
#include "exe/rows.h"
#include "exe/rows_compile.h"
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
		fprintf(stderr, "usage: rows_dump FILE [DEBUG_FILE] | -t FILE ...\n");
		return 2;
	}
	if (strcmp(argv[1], "-t"))
		return dump(argv[1], argc > 2 ? argv[2] : NULL, false);
	for (int i = 2; i < argc; i++)
		failed |= dump(argv[i], NULL, true);
	return failed;
}
