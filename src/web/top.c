// SPDX-License-Identifier: Apache-2.0
#include "web/top.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "store/flame.h"
#include "web/links.h"
#include "wire/jsontext.h"

struct function {
	u32 frame;		/* one that has its name */
	u32 open;		/* how often it is on the way down to where we are */
	s64 self, total;
};

struct functions {
	const struct flame *flame;
	u32 *of_frame;
	struct function *at;
	u32 count;
};

static void functions_done(struct functions *f)
{
	free(f->of_frame);
	free(f->at);
}

/* Frames of one name in one file are one function, whatever line they were at; a flame of names alone finds them. */
static int functions_init(struct functions *f, const struct flame *flame)
{
	_cleanup_(flame_freep) struct flame *names = flame_new();

	*f = (struct functions){ .flame = flame };
	f->of_frame = calloc((size_t)flame->frames.count + 1, sizeof(*f->of_frame));
	f->at = calloc((size_t)flame->frames.count + 1, sizeof(*f->at));
	if (!names || !f->of_frame || !f->at)
		return -ENOMEM;
	for (u32 i = 0; i < flame->frames.count; i++) {
		const struct flame_frame *frame = &flame_frames(flame)[i];
		s64 number = flame_frame(names, &(struct flame_frame){ .name = frame->name, .exe = frame->exe });

		if (number < 0)
			return (int)number;
		f->of_frame[i] = (u32)number;
		f->at[number].frame = i;
	}
	f->count = names->frames.count;
	return 0;
}

static struct function *function_of(struct functions *f, u32 node)
{
	return &f->at[f->of_frame[flame_nodes(f->flame)[node].frame]];
}

static void enter(void *arg, u32 node)
{
	struct functions *f = arg;
	struct function *function = function_of(f, node);

	function->self += flame_nodes(f->flame)[node].self;
	if (!function->open++)
		function->total += flame_nodes(f->flame)[node].total;
}

static void leave(void *arg, u32 node)
{
	function_of(arg, node)->open--;
}

static int compare(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	if (x->self != y->self)
		return x->self > y->self ? -1 : 1;
	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	return x->frame < y->frame ? -1 : x->frame > y->frame;
}

/* The root is no function, nor are the values of a label. */
static bool is_wanted(const struct flame_frame *frame, const char *part)
{
	size_t len = strlen(part);

	if (!frame->name.len || (frame->type.len == 5 && !memcmp(frame->type.at, "label", 5)))
		return false;
	return !len || memmem(frame->name.at, frame->name.len, part, len);
}

static void keep_wanted(struct functions *f, const char *part)
{
	u32 kept = 0;

	for (u32 i = 0; i < f->count; i++)
		if (f->at[i].total && is_wanted(&flame_frames(f->flame)[f->at[i].frame], part))
			f->at[kept++] = f->at[i];
	f->count = kept;
}

static void put_row(struct jsontext *j, const struct flame_frame *frame, const struct function *function)
{
	const struct str texts[] = { frame->name, frame->exe, frame->file, frame->type };

	jsontext_open(j, '[');
	for (u32 i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		jsontext_string(j, texts[i].at, texts[i].len);
	jsontext_double(j, (double)function->self);
	jsontext_double(j, (double)function->total);
	jsontext_close(j, ']');
}

int top_json(const struct flame *flame, const struct links *links, const char *part, u32 first, u32 rows_max,
	     struct buf *out)
{
	_cleanup_(functions_done) struct functions f;
	struct jsontext j = { .b = out };
	int r = functions_init(&f, flame);

	if (r < 0)
		return r;
	links_visit(links, flame, 0, &(struct visitor){ enter, leave, &f });
	keep_wanted(&f, part);
	qsort(f.at, f.count, sizeof(*f.at), compare);
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
