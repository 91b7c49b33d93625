// SPDX-License-Identifier: Apache-2.0
#include "halves/channel.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/cursor.h"

#define MAGIC 0x6b636977u	/* "wick" */

#define X(member) +1
enum { BOOST_HEAD = 4 + 2 + 2 + 4 + 1 + 4, BOOST_TEXT_COUNT = 0 BOOST_TEXTS(X) };
#undef X
_Static_assert(8 + BOOST_HEAD + BOOST_TEXT_COUNT * (1 + BOOST_TEXT_MAX) <= CHANNEL_HEARD_MAX, "it fits");

/* Which lengths the body of a kind may have, and who may be told. */
static const struct {
	size_t min, max;
	enum channel_reader reader;
} bodies[CHANNEL_KINDS] = {
	[CHANNEL_WINDOW] = { 2 * sizeof(u64), 2 * sizeof(u64), CHANNEL_SERVICE },
	[CHANNEL_COUNTERS] = { sizeof(u32), CHANNEL_MESSAGE_MAX, CHANNEL_SERVICE },
	[CHANNEL_WANTED] = { sizeof(u64), sizeof(u64), CHANNEL_SAMPLER },
	[CHANNEL_BOOST] = { BOOST_HEAD + BOOST_TEXT_COUNT, BOOST_HEAD + BOOST_TEXT_COUNT * (1 + BOOST_TEXT_MAX),
			    CHANNEL_SAMPLER },
	[CHANNEL_BOOSTED] = { 2 * sizeof(u64), 2 * sizeof(u64), CHANNEL_SERVICE },
};

/* Of a window's OTLP, and the one file that it is in. */
static bool is_window(const void *body, u32 files)
{
	struct cursor c = cursor_of(body, 2 * sizeof(u64));
	u64 bytes;

	(void)cursor_uint(&c, sizeof(u64));
	bytes = cursor_uint(&c, sizeof(u64));
	return bytes <= CHANNEL_WINDOW_MAX && files == (bytes > 0);
}

int channel_parse(enum channel_reader reader, const void *at, size_t bytes, u32 files, struct channel_frame *ret_frame)
{
	struct cursor c = cursor_of(at, bytes);
	u32 magic = (u32)cursor_uint(&c, 4), version = (u32)cursor_uint(&c, 2), kind = (u32)cursor_uint(&c, 2);
	size_t body = cursor_left(&c);

	if (c.bad || magic != MAGIC)
		return -EBADMSG;
	if (version != CHANNEL_VERSION)
		return -EPROTO;
	if (kind == 0 || kind >= CHANNEL_KINDS || bodies[kind].reader != reader || body < bodies[kind].min ||
	    body > bodies[kind].max)
		return -EBADMSG;
	if (kind == CHANNEL_WINDOW ? !is_window(c.at, files) : files > 0)
		return -EBADMSG;
	*ret_frame = (struct channel_frame){ (enum channel_kind)kind, c.at, body };
	return 0;
}

static void add_uint(struct buf *out, u64 value, size_t bytes)
{
	u8 at[sizeof(value)];

	for (size_t i = 0; i < bytes; i++)
		at[i] = (u8)(value >> 8 * i);
	buf_add(out, at, bytes);
}

static void add_head(struct buf *out, enum channel_kind kind)
{
	add_uint(out, MAGIC, 4);
	add_uint(out, CHANNEL_VERSION, 2);
	add_uint(out, kind, 2);
}

void channel_add_wanted(struct buf *out, u64 wanted_ns)
{
	add_head(out, CHANNEL_WANTED);
	add_uint(out, wanted_ns, sizeof(wanted_ns));
}

u64 channel_wanted(const struct channel_frame *frame)
{
	struct cursor c = cursor_of(frame->body, frame->bytes);

	assert(frame->kind == CHANNEL_WANTED);
	return cursor_uint(&c, sizeof(u64));
}

void channel_add_window(struct buf *out, struct channel_window window)
{
	add_head(out, CHANNEL_WINDOW);
	add_uint(out, window.end_ns, sizeof(u64));
	add_uint(out, window.bytes, sizeof(u64));
}

struct channel_window channel_window(const struct channel_frame *frame)
{
	struct cursor c = cursor_of(frame->body, frame->bytes);
	struct channel_window window;

	assert(frame->kind == CHANNEL_WINDOW);
	window.end_ns = cursor_uint(&c, sizeof(u64));
	window.bytes = (u32)cursor_uint(&c, sizeof(u64));
	return window;
}

/* ---- Boosts -------------------------------------------------------------------------- */

static void add_text(struct buf *out, const char *text)
{
	size_t len = text ? strnlen(text, CHANNEL_TEXT_MAX) : 0;

	add_uint(out, len, 1);
	if (len)
		buf_add(out, text, len);
}

void channel_add_boost(struct buf *out, const struct boost *boost)
{
	add_head(out, CHANNEL_BOOST);
	add_uint(out, boost->id, 4);
	add_uint(out, boost->hz, 2);
	add_uint(out, boost->seconds, 2);
	add_uint(out, boost->pid, 4);
	add_uint(out, boost->has_uid, 1);
	add_uint(out, boost->uid, 4);
#define X(member) add_text(out, boost->member);
	BOOST_TEXTS(X)
#undef X
}

/* Without a NUL in it. */
static void take_boost_text(struct cursor *c, char to[BOOST_TEXT_MAX + 1])
{
	size_t len = cursor_u8(c);
	const void *at = cursor_skip(c, len);

	if (c->bad || (len && memchr(at, '\0', len))) {
		c->bad = true;
		return;
	}
	if (len)
		memcpy(to, at, len);
}

/* What ends one says nothing else. */
static bool is_end(const struct boost *boost)
{
	const struct boost end = { .id = boost->id };

	return !boost->hz && !boost->seconds && boost_is_same(boost, &end);
}

int channel_boost(const struct channel_frame *frame, struct boost *ret_boost)
{
	struct cursor c = cursor_of(frame->body, frame->bytes);
	struct boost boost = { 0 };
	u64 has_uid;

	assert(frame->kind == CHANNEL_BOOST);
	boost.id = (u32)cursor_uint(&c, 4);
	boost.hz = (u32)cursor_uint(&c, 2);
	boost.seconds = (u32)cursor_uint(&c, 2);
	boost.pid = (u32)cursor_uint(&c, 4);
	has_uid = cursor_uint(&c, 1);
	boost.has_uid = has_uid == 1;
	boost.uid = (u32)cursor_uint(&c, 4);
#define X(member) take_boost_text(&c, boost.member);
	BOOST_TEXTS(X)
#undef X
	if (c.bad || cursor_left(&c) || has_uid > 1 || (!is_end(&boost) && boost_problem(&boost)))
		return -EBADMSG;
	*ret_boost = boost;
	return 0;
}

void channel_add_boosted(struct buf *out, const struct boost_event *event)
{
	add_head(out, CHANNEL_BOOSTED);
	add_uint(out, event->id, 4);
	add_uint(out, event->outcome, 4);
	add_uint(out, event->end_ns, 8);
}

int channel_boosted(const struct channel_frame *frame, struct boost_event *ret_event)
{
	struct cursor c = cursor_of(frame->body, frame->bytes);
	u32 id = (u32)cursor_uint(&c, 4);
	u64 outcome = cursor_uint(&c, 4), end_ns = cursor_uint(&c, 8);

	assert(frame->kind == CHANNEL_BOOSTED);
	if (outcome >= BOOST_OUTCOME_COUNT)
		return -EBADMSG;
	*ret_event = (struct boost_event){ id, (enum boost_outcome)outcome, end_ns };
	return 0;
}

/* ---- Counters ---------------------------------------------------------------------- */

void channel_add_counters(struct buf *out, const struct counter_value *values, size_t count)
{
	add_head(out, CHANNEL_COUNTERS);
	add_uint(out, count, 4);
	for (size_t i = 0; i < count; i++) {
		add_uint(out, values[i].kind, 1);
		add_uint(out, values[i].value, 8);
		add_text(out, values[i].name);
		add_text(out, values[i].text);
		add_text(out, values[i].of);
		add_text(out, values[i].label);
	}
}

/* Text that may be shown as it is: no control characters. */
static bool is_plain(const u8 *at, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (at[i] < ' ' || at[i] > '~')
			return false;
	return true;
}

/* What names a metric. */
static bool is_name(const u8 *at, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!(at[i] >= 'a' && at[i] <= 'z') && !(at[i] >= '0' && at[i] <= '9') && at[i] != '_')
			return false;
	return len > 0 && len < 64;
}

/* Copies it behind the others; NULL for none. */
static const char *take_text(struct cursor *c, char **strings, bool is_plain_name)
{
	size_t len = cursor_u8(c);
	const u8 *at = cursor_skip(c, len);
	char *text = *strings;

	if (c->bad || !is_plain(at, len) || (is_plain_name && !is_name(at, len))) {
		c->bad = true;
		return NULL;
	}
	if (!len)
		return NULL;
	memcpy(text, at, len);
	text[len] = '\0';
	*strings += len + 1;
	return text;
}

static void take_counter(struct cursor *c, char **strings, struct counter_value *value)
{
	u32 kind = cursor_u8(c);

	value->kind = (enum counter_kind)kind;
	value->value = cursor_uint(c, 8);
	value->name = take_text(c, strings, true);
	value->text = take_text(c, strings, false);
	value->of = take_text(c, strings, false);
	value->label = take_text(c, strings, false);
	/* What it is of, and what that is, come together. */
	if (kind > COUNT_LOSS || !value->text || !value->of != !value->label || (value->label &&
	    !is_name((const u8 *)value->label, strlen(value->label))))
		c->bad = true;
}

int channel_counters(const struct channel_frame *frame, struct counter_value ret_values[COUNTER_VALUES_MAX],
		     size_t *ret_count, char **ret_strings)
{
	struct cursor c = cursor_of(frame->body, frame->bytes);
	u64 count = cursor_uint(&c, 4);
	_cleanup_(freep) char *strings = NULL;
	char *end;

	assert(frame->kind == CHANNEL_COUNTERS);
	if (count > COUNTER_VALUES_MAX)
		return -EBADMSG;
	/* Each text has a byte for its length, where the copy has one for its end. */
	end = strings = malloc(frame->bytes + 1);
	if (!strings)
		return -ENOMEM;
	for (u64 i = 0; i < count && !c.bad; i++)
		take_counter(&c, &end, &ret_values[i]);
	if (c.bad || cursor_left(&c))
		return -EBADMSG;
	*ret_count = count;
	*ret_strings = TAKE(strings);
	return 0;
}
