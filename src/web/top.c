// SPDX-License-Identifier: Apache-2.0
#include "web/top.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "store/flame.h"
#include "web/sums.h"
#include "wire/jsontext.h"

/* Frames of one name in one file are one function, whatever line they were at. */
static struct flame_frame function_key(const struct flame_frame *frame)
{
	return (struct flame_frame){ .name = frame->name, .exe = frame->exe };
}

/* The root is no function, nor are the values of a label. */
static bool is_wanted(const struct flame_frame *frame, const char *part)
{
	size_t len = strlen(part);

	if (!frame->name.len || (frame->type.len == 5 && !memcmp(frame->type.at, "label", 5)))
		return false;
	return !len || memmem(frame->name.at, frame->name.len, part, len);
}

static void keep_wanted(struct sums *f, const char *part)
{
	u32 kept = 0;

	for (u32 i = 0; i < f->count; i++)
		if (f->at[i].total && is_wanted(&flame_frames(f->flame)[f->at[i].frame], part))
			f->at[kept++] = f->at[i];
	f->count = kept;
}

static void put_row(struct jsontext *j, const struct flame_frame *frame, const struct sum *sum)
{
	const struct str texts[] = { frame->name, frame->exe, frame->file, frame->type };

	jsontext_open(j, '[');
	for (u32 i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		jsontext_string(j, texts[i].at, texts[i].len);
	jsontext_double(j, (double)sum->self);
	jsontext_double(j, (double)sum->total);
	jsontext_close(j, ']');
}

int top_json(const struct flame *flame, const struct links *links, const char *part, u32 first, u32 rows_max,
	     struct buf *out)
{
	_cleanup_(sums_done) struct sums f;
	struct jsontext j = { .b = out };
	int r = sums_init(&f, flame, links, function_key);

	if (r < 0)
		return r;
	keep_wanted(&f, part);
	qsort(f.at, f.count, sizeof(*f.at), sum_compare);
	jsontext_open(&j, '{');
	jsontext_key(&j, "total");
	jsontext_double(&j, (double)flame_nodes(flame)[0].total);
	jsontext_key(&j, "count");
	jsontext_u32(&j, f.count);
	jsontext_key(&j, "rows");
	jsontext_open(&j, '[');
	for (u32 i = first; i < f.count && i - first < rows_max; i++)
		put_row(&j, &flame_frames(flame)[f.at[i].frame], &f.at[i]);
	jsontext_close(&j, ']');
	jsontext_close(&j, '}');
	return buf_err(out);
}
