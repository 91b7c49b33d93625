// SPDX-License-Identifier: Apache-2.0
#include "web/source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/line_sums.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/json_write.h"
#include "base/saturate.h"
#include "profile/profile.h"
#include "web/source_text.h"

#define AROUND 10		/* lines of text before and after those that have something */
#define LENGTH_UNKNOWN 40	/* as much is shown of a function of which only the beginning is known */
#define WHY_BYTES_MAX 2048

struct source_file {
	struct str path;
	struct line_sum *lines;		/* in their order */
	u32 count, start, hottest;
	s64 self, total;		/* of them, and of what has no line */
};

struct amount {
	s64 self, total;
};

struct source {
	struct line_sums sums;
	struct source_file *files;	/* largest first */
	u32 count;
	struct amount all, unknown, left_out;
};

static void source_done(struct source *s)
{
	line_sums_done(&s->sums);
	free(s->files);
}

static void amount_add(struct amount *amount, s64 self, s64 total)
{
	amount->self = saturating_add(amount->self, self);
	amount->total = saturating_add(amount->total, total);
}

/* ---- Lines become files ------------------------------------------------------------------ */

static int by_file(const void *a, const void *b)
{
	const struct line_sum *x = a, *y = b;

	return x->file != y->file ? (x->file < y->file ? -1 : 1) : x->line < y->line ? -1 : x->line > y->line;
}

static int by_value(const void *a, const void *b)
{
	const struct line_sum *x = a, *y = b;

	return x->self != y->self ? (x->self > y->self ? -1 : 1) :
	       x->total != y->total ? (x->total > y->total ? -1 : 1) : by_file(a, b);
}

static int compare_files(const void *a, const void *b)
{
	const struct source_file *x = a, *y = b;

	return x->total != y->total ? (x->total > y->total ? -1 : 1) :
	       x->self != y->self ? (x->self > y->self ? -1 : 1) : str_compare(x->path, y->path);
}

/* What has no line comes first in a file, and goes. */
static void take_unknown(struct source *s, struct source_file *file)
{
	if (!file->count || file->lines->line)
		return;
	amount_add(&s->unknown, file->lines->self, file->lines->total);
	file->lines++;
	file->count--;
}

static void take_file(struct source *s, struct source_file *file)
{
	for (u32 i = 0; i < file->count; i++) {
		const struct line_sum *line = &file->lines[i];

		file->self = saturating_add(file->self, line->self);
		file->total = saturating_add(file->total, line->total);
		if (line->start && (!file->start || line->start < file->start))
			file->start = line->start;
	}
	amount_add(&s->all, file->self, file->total);
	take_unknown(s, file);
}

static int take_files(struct source *s, const struct profile *profile)
{
	struct line_sum *rows = s->sums.rows.rows;
	u32 count = s->sums.rows.count;

	s->files = array_calloc((size_t)count + 1, sizeof(*s->files));
	if (!s->files)
		return -ENOMEM;
	if (count)
		qsort(rows, count, sizeof(*rows), by_file);
	for (u32 i = 0, n; i < count; i += n) {
		struct source_file *file = &s->files[s->count++];

		for (n = 1; i + n < count && rows[i + n].file == rows[i].file;)
			n++;
		*file = (struct source_file){ profile->strings.at[rows[i].file], .lines = &rows[i], .count = n };
		take_file(s, file);
	}
	qsort(s->files, s->count, sizeof(*s->files), compare_files);
	return 0;
}

/* The largest stay, those of too many files and lines are told as one amount. */
static void leave_out(struct source *s)
{
	for (u32 i = 0; i < s->count; i++) {
		struct source_file *file = &s->files[i];
		u32 most = i < SOURCE_FILES_MAX ? SOURCE_LINES_MAX : 0;

		qsort(file->lines, file->count, sizeof(*file->lines), by_value);
		file->hottest = file->count ? file->lines->line : file->start;
		for (u32 k = most; k < file->count; k++)
			amount_add(&s->left_out, file->lines[k].self, file->lines[k].total);
		file->count = file->count < most ? file->count : most;
		qsort(file->lines, file->count, sizeof(*file->lines), by_file);
	}
	s->count = s->count < SOURCE_FILES_MAX ? s->count : SOURCE_FILES_MAX;
}

/* ---- The text -------------------------------------------------------------------------------- */

struct lines_range {
	u32 first, last;
};

static struct lines_range choose_range(const struct source_file *file)
{
	u32 low = file->count ? file->lines[0].line : file->start;
	u32 high = file->count ? file->lines[file->count - 1].line : file->start + LENGTH_UNKNOWN;
	struct lines_range range;

	if (file->start && file->start < low)
		low = file->start;
	range.first = low > AROUND ? low - AROUND : 1;
	range.last = high + AROUND;
	if (range.last - range.first < SOURCE_TEXT_LINES_MAX)
		return range;
	if (file->hottest > range.first + SOURCE_TEXT_LINES_MAX / 2)
		range.first = file->hottest - SOURCE_TEXT_LINES_MAX / 2;
	if (range.first > range.last - SOURCE_TEXT_LINES_MAX + 1)
		range.first = range.last - SOURCE_TEXT_LINES_MAX + 1;
	range.last = range.first + SOURCE_TEXT_LINES_MAX - 1;
	return range;
}

/* Whether the file has so many lines. */
static bool put_lines(struct json_write *j, const struct source_text *text, struct lines_range range)
{
	struct str line;
	size_t at = 0;
	u32 number = 0;

	json_write_key(j, "first");
	json_write_u32(j, range.first);
	json_write_key(j, "lines");
	json_write_open(j, '[');
	while (number < range.last && source_text_next(text, &at, &line))
		if (++number >= range.first)
			json_write_string(j, line.at, line.len);
	json_write_close(j, ']');
	return number >= range.last - AROUND;
}

static void put_reason(struct json_write *j, const char *why)
{
	json_write_key(j, "why");
	json_write_text(j, why);
}

static void put_found(struct json_write *j, const struct source_file *file, const struct source_text *text, u64 from_ns)
{
	bool has_all;

	json_write_key(j, "path");
	json_write_text(j, text->path);
	has_all = put_lines(j, text, choose_range(file));
	json_write_key(j, "changed");
	json_write_bool(j, text->changed_ns > from_ns || (file->count && !has_all));
}

static void put_text(struct json_write *j, const struct source_file *file, const struct source_question *q)
{
	_cleanup_(source_text_done) struct source_text text = { 0 };
	_cleanup_(buf_done) struct buf why;

	buf_init(&why, WHY_BYTES_MAX);
	json_write_key(j, "text");
	json_write_open(j, '{');
	json_write_key(j, "file");
	json_write_string(j, file ? file->path.at : "", file ? file->path.len : 0);
	if (!file || !file->path.len)
		put_reason(j, "it is not known which file the function is in: its program has no debug information "
			      "here");
	else if (!file->hottest)
		put_reason(j, "it is not known where in the file the function is");
	else if (source_text_read(q->options, file->path, &text, &why) < 0)
		put_reason(j, why.len ? why.data : "the file cannot be read");
	else
		put_found(j, file, &text, q->from_ns);
	json_write_close(j, '}');
}

/* ---- All of it --------------------------------------------------------------------------------- */

static void put_amount(struct json_write *j, const char *key, const struct amount *amount)
{
	json_write_key(j, key);
	json_write_open(j, '{');
	json_write_key(j, "self");
	json_write_integer(j, amount->self);
	json_write_key(j, "total");
	json_write_integer(j, amount->total);
	json_write_close(j, '}');
}

static void put_file(struct json_write *j, const struct source_file *file)
{
	json_write_open(j, '{');
	json_write_key(j, "file");
	json_write_string(j, file->path.len ? file->path.at : "", file->path.len);
	json_write_key(j, "start");
	json_write_u32(j, file->start);
	json_write_key(j, "lines");
	json_write_open(j, '[');
	for (u32 i = 0; i < file->count; i++) {
		json_write_open(j, '[');
		json_write_u32(j, file->lines[i].line);
		json_write_integer(j, file->lines[i].self);
		json_write_integer(j, file->lines[i].total);
		json_write_close(j, ']');
	}
	json_write_close(j, ']');
	json_write_close(j, '}');
}

static void put_heading(struct json_write *j, const struct source *s)
{
	const struct {
		const char *key;
		s64 value;
	} numbers[] = { { "all", s->sums.all }, { "self", s->all.self }, { "total", s->all.total } };
	char period[24] = "";

	if (s->sums.period_ns)
		(void)snprintf(period, sizeof(period), "%lld", s->sums.period_ns);
	json_write_key(j, "unit");
	json_write_string(j, s->sums.unit.at, s->sums.unit.len);
	json_write_key(j, "period");
	json_write_text(j, period);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		json_write_key(j, numbers[i].key);
		json_write_integer(j, numbers[i].value);
	}
	put_amount(j, "unknown", &s->unknown);
	put_amount(j, "left_out", &s->left_out);
}

/* Only what frames name: there is no way to ask for another file. */
static int choose_file(const struct source *s, const char *wanted, const struct source_file **ret_file,
		       struct buf *why)
{
	*ret_file = s->count ? s->files : NULL;
	if (!*wanted)
		return 0;
	for (u32 i = 0; i < s->count; i++) {
		*ret_file = &s->files[i];
		if (str_is(s->files[i].path, wanted))
			return 0;
	}
	buf_addf(why, "no frame of the function is of that source file, in this range");
	return -ENOENT;
}

int source_json(const struct profile *profile, const struct source_question *question, struct buf *out,
		struct buf *why)
{
	_cleanup_(source_done) struct source s = { 0 };
	struct json_write j = { .b = out };
	const struct source_file *file;
	int r = line_sums_init(&s.sums, profile, &question->function);

	if (r == 0)
		r = take_files(&s, profile);
	if (r < 0)
		return r;
	leave_out(&s);
	r = choose_file(&s, question->file, &file, why);
	if (r < 0)
		return r;
	json_write_open(&j, '{');
	put_heading(&j, &s);
	json_write_key(&j, "files");
	json_write_open(&j, '[');
	for (u32 i = 0; i < s.count; i++)
		put_file(&j, &s.files[i]);
	json_write_close(&j, ']');
	put_text(&j, file, question);
	json_write_close(&j, '}');
	return buf_err(out);
}
