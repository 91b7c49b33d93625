// SPDX-License-Identifier: Apache-2.0
#include "web/lines.h"

#include <errno.h>

#include "analysis/summary.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json_write.h"
#include "base/saturate.h"

/* Rows are those of callers, too, which have nothing themselves. */
static bool is_of(const struct summary_row *row, const struct lines_options *o)
{
	return row->self > 0 && str_is(row->frame->name, o->function) &&
	       (!o->in || str_is(frame_home(row->frame), o->in));
}

static void put_row(struct json_write *j, const struct summary_row *row)
{
	json_write_open(j, '[');
	json_write_string(j, row->frame->file.len ? row->frame->file.at : "", row->frame->file.len);
	json_write_integer(j, row->frame->line);
	json_write_integer(j, row->self);
	json_write_close(j, ']');
}

static void put_number(struct json_write *j, const char *key, s64 value)
{
	json_write_key(j, key);
	json_write_integer(j, value);
}

int lines_json(const struct profile *profile, const struct lines_options *options, struct buf *out)
{
	static const struct summary_options by_line = { .by = SUMMARY_LINE };
	_cleanup_(summary_freep) struct summary *summary = NULL;
	struct json_write j = { .b = out };
	s64 self = 0, lined = 0;
	u32 count = 0;
	int r = summary_new(profile, &by_line, &summary);

	if (r < 0)
		return r;
	json_write_open(&j, '{');
	json_write_key(&j, "rows");
	json_write_open(&j, '[');
	for (u32 i = 0; i < summary->row_count; i++) {
		const struct summary_row *row = &summary->rows[i];

		if (!is_of(row, options))
			continue;
		self = saturating_add(self, row->self);
		if (row->frame->line <= 0)
			continue;
		lined = saturating_add(lined, row->self);
		if (count++ < options->rows_max)
			put_row(&j, row);
	}
	json_write_close(&j, ']');
	json_write_key(&j, "unit");
	json_write_text(&j, unit_text(summary->unit));
	put_number(&j, "self", self);
	put_number(&j, "lined", lined);
	put_number(&j, "count", count);
	json_write_close(&j, '}');
	return buf_err(out);
}
