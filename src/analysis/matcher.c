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
	struct pattern *pattern;
	struct pattern_scratch scratch;
};

static void matcher_done(struct matcher *m)
{
	pattern_scratch_done(&m->scratch);
	pattern_free(m->pattern);
}

static int matcher_init(struct matcher *m, const char *text, struct buf *why)
{
	_cleanup_(buf_done) struct buf expression;
	size_t len = strlen(text);
	int r;

	buf_init(&expression, PATTERN_BYTES_MAX);
	*m = (struct matcher){ .by = PART, .text = { text, (u32)len } };
	if (!strncmp(text, "kind=", 5) || !strncmp(text, "file=", 5)) {
		m->by = *text == 'k' ? KIND : FILE_NAME;
		m->text = (struct str){ text + 5, (u32)len - 5 };
		return 0;
	}
	if (len < 3 || *text != '/' || text[len - 1] != '/')
		return 0;
	m->by = EXPRESSION;
	buf_addf(&expression, "(?i)");
	buf_add(&expression, text + 1, len - 2);
	r = buf_err(&expression);
	return r < 0 ? r : pattern_new(expression.data, expression.len, &m->pattern, why);
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

/* 1 or 0, -E2BIG */
static int matches(struct matcher *m, const struct frame *frame)
{
	switch (m->by) {
	case PART:
		return has_part(frame->name, m->text);
	case KIND:
		return str_equal(frame->type, m->text);
	case FILE_NAME:
		return str_equal(str_base_name(frame->exe), m->text);
	case EXPRESSION:
		break;
	}
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
