// SPDX-License-Identifier: Apache-2.0
#include "analysis/matcher.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "analysis/calltree.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/pattern.h"

#define LOOK_AT_CLOCK_EACH 256	/* names */

struct matcher {
	enum { PART, EXPRESSION, KIND, FILE_NAME } by;
	struct str text;
	bool is_of_file;	/* an expression: only names of that file */
	struct str file;
	struct pattern *pattern;
	struct pattern_scratch scratch;
};

static void matcher_done(struct matcher *m)
{
	pattern_scratch_done(&m->scratch);
	pattern_free(m->pattern);
}

/* "/expression/" */
static int read_expression(struct matcher *m, struct str text, struct buf *why)
{
	_cleanup_(buf_done) struct buf expression;
	int r;

	buf_init(&expression, PATTERN_BYTES_MAX);
	m->by = EXPRESSION;
	buf_addf(&expression, "(?i)");
	buf_add(&expression, text.at + 1, text.len - 2);
	r = buf_err(&expression);
	return r < 0 ? r : pattern_new(expression.data, expression.len, &m->pattern, why);
}

static bool is_expression(struct str text)
{
	return text.len > 2 && *text.at == '/' && text.at[text.len - 1] == '/';
}

/* Behind the last space with a slash after it: names of files have none, paths hardly ever. */
static struct str expression_of_file(struct str text)
{
	for (u32 at = text.len; at-- > 1;)
		if (text.at[at] == '/' && text.at[at - 1] == ' ' && at + 2 < text.len && text.at[text.len - 1] == '/')
			return (struct str){ text.at + at, text.len - at };
	return (struct str){ "", 0 };
}

static int matcher_init(struct matcher *m, const char *text, struct buf *why)
{
	struct str all = str_of(text), expression;

	*m = (struct matcher){ .by = PART, .text = all };
	if (!strncmp(text, "kind=", 5)) {
		m->by = KIND;
		m->text = (struct str){ text + 5, all.len - 5 };
		return 0;
	}
	if (strncmp(text, "file=", 5))
		return is_expression(all) ? read_expression(m, all, why) : 0;
	m->by = FILE_NAME;
	m->text = m->file = (struct str){ text + 5, all.len - 5 };
	expression = expression_of_file(m->text);
	if (!expression.len)
		return 0;
	m->is_of_file = true;
	m->file.len -= expression.len + 1;
	return read_expression(m, expression, why);
}

/* Letters of ASCII are equal in both cases; everything else is by its bytes. */
static bool has_part(struct str name, struct str part)
{
	for (u32 at = 0; at + part.len <= name.len; at++) {
		u32 i = 0;

		while (i < part.len && tolower((u8)name.at[at + i]) == tolower((u8)part.at[i]))
			i++;
		if (i == part.len)
			return true;
	}
	return false;
}

static bool is_file(const struct frame *frame, struct str file)
{
	struct str home = frame_home(frame);

	return str_equal(file.len && *file.at == '/' ? home : str_base_name(home), file);
}

/* 1 or 0, -E2BIG */
static int matches(struct matcher *m, const struct frame *frame)
{
	switch (m->by) {
	case PART:
		return has_part(frame->name, m->text);
	case KIND:
		return str_equal(frame->type, m->text);
	case FILE_NAME:
		return is_file(frame, m->text);
	case EXPRESSION:
		break;
	}
	if (m->is_of_file && !is_file(frame, m->file))
		return 0;
	return pattern_match(m->pattern, &m->scratch, frame->name.at, frame->name.len, 0, NULL);
}

int matcher_mark(const char *text, const struct calltree *tree, u16 bit, u16 *marks, struct buf *why)
{
	_cleanup_(matcher_done) struct matcher m;
	u64 end_ns = clock_ns(CLOCK_MONOTONIC) + MATCHER_TIME_MAX_NS;
	int r = matcher_init(&m, text, why);

	for (u32 i = 1; i < tree->frames.count && r >= 0; i++) {
		const struct frame *frame = &calltree_frames(tree)[i];

		r = frame_is_function(frame) ? matches(&m, frame) : 0;
		if (r > 0)
			marks[i] |= bit;
		if (i % LOOK_AT_CLOCK_EACH == 0 && clock_ns(CLOCK_MONOTONIC) > end_ns)
			r = -E2BIG;
	}
	if (r != -E2BIG)
		return r < 0 ? r : 0;
	buf_addf(why, "the expression takes too long; write a simpler one");
	return -EINVAL;
}
