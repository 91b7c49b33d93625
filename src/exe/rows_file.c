// SPDX-License-Identifier: Apache-2.0
#include "exe/rows_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exe/rows.h"

struct rows_file {
	struct rows head;
	struct rows_page *pages;
	struct rows *block;	/* all of it; or NULL, and it is in a file */
	int fd;
	u64 offset;
};

/* Bytes of the block. */
static int read_at(const struct rows_file *f, u64 at, void *to, size_t bytes)
{
	if (f->block) {
		memcpy(to, (const u8 *)f->block + at, bytes);
		return 0;
	}
	while (bytes) {
		ssize_t got = pread(f->fd, to, bytes, (off_t)(f->offset + at));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : -EBADMSG;
		to = (u8 *)to + got;
		at += (u64)got;
		bytes -= (size_t)got;
	}
	return 0;
}

static int read_pages(struct rows_file *f)
{
	const u64 bytes = f->head.page_count * sizeof(*f->pages);
	int r;

	f->pages = malloc(bytes + 1);
	if (!f->pages)
		return -ENOMEM;
	r = read_at(f, sizeof(f->head) + f->head.rule_count * sizeof(struct unwind_rule), f->pages, bytes);
	if (r < 0)
		return r;
	return rows_pages_ok(&f->head, f->pages) ? 0 : -EBADMSG;
}

int rows_file_new(int fd, u64 offset, struct rows_file **ret_file)
{
	_cleanup_(rows_file_freep) struct rows_file *f = calloc(1, sizeof(*f));
	int r;

	if (!f)
		return -ENOMEM;
	f->fd = fd;
	f->offset = offset;
	r = read_at(f, 0, &f->head, sizeof(f->head));
	if (r == 0)
		r = rows_head_ok(&f->head, f->head.bytes) ? read_pages(f) : -EBADMSG;
	if (r < 0) {
		f->fd = -1;	/* the caller's */
		return r;
	}
	*ret_file = TAKE(f);
	return 0;
}

struct rows_file *rows_file_of(struct rows *rows)
{
	_cleanup_(rows_file_freep) struct rows_file *f = calloc(1, sizeof(*f));

	if (!f) {
		free(rows);
		return NULL;
	}
	f->fd = -1;
	f->block = rows;
	f->head = *rows;
	return read_pages(f) < 0 ? NULL : TAKE(f);
}

void rows_file_free(struct rows_file *f)
{
	if (!f)
		return;
	closep(&f->fd);
	free(f->block);
	free(f->pages);
	free(f);
}

const struct rows *rows_file_head(const struct rows_file *f)
{
	return &f->head;
}

const struct rows_page *rows_file_pages(const struct rows_file *f)
{
	return f->pages;
}

const struct rows_page *rows_file_find(const struct rows_file *f, u64 number)
{
	return rows_pages_find(f->pages, f->head.page_count, number);
}

int rows_file_page(const struct rows_file *f, const struct rows_page *page, u16 *ret_low, u16 *ret_rule)
{
	const u64 low_at = sizeof(f->head) + f->head.rule_count * sizeof(struct unwind_rule) +
			   f->head.page_count * sizeof(*page);
	int r = read_at(f, low_at + page->first * sizeof(u16), ret_low, page->count * sizeof(u16));

	if (r == 0)
		r = read_at(f, low_at + ((u64)f->head.row_count + page->first) * sizeof(u16), ret_rule,
			    page->count * sizeof(u16));
	if (r < 0)
		return r;
	return rows_ok(ret_low, ret_rule, page->count, f->head.rule_count) ? 0 : -EBADMSG;
}

int rows_file_rule(const struct rows_file *f, u32 index, struct unwind_rule *ret_rule)
{
	struct unwind_rule rule;
	int r = index < f->head.rule_count ? 0 : -EBADMSG;

	if (r == 0)
		r = read_at(f, sizeof(f->head) + index * sizeof(rule), &rule, sizeof(rule));
	if (r < 0)
		return r;
	if (!rows_rule_ok(&rule))
		return -EBADMSG;
	*ret_rule = rule;
	return 0;
}
