// SPDX-License-Identifier: Apache-2.0
#include "halves/channel.h"

#include <errno.h>
#include <string.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "test.h"

static struct buf made(void)
{
	struct buf b;

	buf_init(&b, CHANNEL_MESSAGE_MAX);
	return b;
}

TEST(channel_brings_a_window)
{
	_cleanup_(buf_done) struct buf b = made();
	struct channel_frame frame;

	channel_add_window(&b, (struct channel_window){ 0x123456789abcull, 7 });
	EQ(buf_err(&b), 0);
	EQ(channel_parse(CHANNEL_SERVICE, b.data, b.len, 1, &frame), 0);
	EQ(channel_window(&frame).end_ns, 0x123456789abcull);
	EQ(channel_window(&frame).bytes, 7);
}

TEST(channel_takes_a_window_with_the_file_that_it_needs)
{
	static const struct {
		u32 bytes, files;
		int result;
	} cases[] = {
		{ 0, 0, 0 }, { 0, 1, -EBADMSG }, { 1, 0, -EBADMSG }, { 1, 2, -EBADMSG },
		{ CHANNEL_WINDOW_MAX, 1, 0 }, { CHANNEL_WINDOW_MAX + 1, 1, -EBADMSG },
	};
	struct channel_frame frame;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_(buf_done) struct buf b = made();

		channel_add_window(&b, (struct channel_window){ 1, cases[i].bytes });
		EQ(channel_parse(CHANNEL_SERVICE, b.data, b.len, cases[i].files, &frame), cases[i].result);
	}
}

TEST(channel_takes_nothing_from_the_service_but_a_time_and_boosts)
{
	_cleanup_(buf_done) struct buf window = made(), counters = made(), wanted = made();
	struct channel_frame frame;

	channel_add_window(&window, (struct channel_window){ 1, 0 });
	channel_add_counters(&counters, NULL, 0);
	channel_add_wanted(&wanted, 7);
	EQ(channel_parse(CHANNEL_SAMPLER, window.data, window.len, 0, &frame), -EBADMSG);
	EQ(channel_parse(CHANNEL_SAMPLER, counters.data, counters.len, 0, &frame), -EBADMSG);
	EQ(channel_parse(CHANNEL_SAMPLER, wanted.data, wanted.len, 1, &frame), -EBADMSG);
	EQ(channel_parse(CHANNEL_SAMPLER, wanted.data, wanted.len, 0, &frame), 0);
	EQ(channel_wanted(&frame), 7);
}

TEST(channel_refuses_heads_that_are_none)
{
	static const struct {
		size_t at;
		char byte;
		int error;
	} changes[] = {
		{ 0, 'x', -EBADMSG },	/* magic */
		{ 4, 3, -EPROTO },	/* version */
		{ 6, 0, -EBADMSG },	/* kind */
		{ 6, CHANNEL_KINDS, -EBADMSG },
		{ 7, 1, -EBADMSG },
	};
	struct channel_frame frame;

	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		_cleanup_(buf_done) struct buf b = made();

		channel_add_wanted(&b, 7);
		b.data[changes[i].at] = changes[i].byte;
		EQ(channel_parse(CHANNEL_SAMPLER, b.data, b.len, 0, &frame), changes[i].error);
	}
}

TEST(channel_refuses_messages_that_are_cut_or_go_on)
{
	_cleanup_(buf_done) struct buf b = made();
	struct channel_frame frame;

	channel_add_wanted(&b, 7);
	for (size_t bytes = 0; bytes < b.len; bytes++)
		EQ(channel_parse(CHANNEL_SAMPLER, b.data, bytes, 0, &frame), -EBADMSG);
	buf_add(&b, "", 1);
	EQ(channel_parse(CHANNEL_SAMPLER, b.data, b.len, 0, &frame), -EBADMSG);
}

static const struct counter_value some[] = {
	{ "samples", "all of them", NULL, NULL, COUNT_NEUTRAL, 1ull << 40 },
	{ "samples_lost", "some", "page-faults", "kind", COUNT_LOSS, 3 },
};

TEST(channel_brings_counters)
{
	_cleanup_(buf_done) struct buf b = made();
	_cleanup_(freep) char *strings = NULL;
	struct counter_value values[COUNTER_VALUES_MAX];
	struct channel_frame frame;
	size_t count;

	channel_add_counters(&b, some, 2);
	EQ(channel_parse(CHANNEL_SERVICE, b.data, b.len, 0, &frame), 0);
	EQ(channel_counters(&frame, values, &count, &strings), 0);
	EQ(count, 2);
	STREQ(values[0].name, "samples");
	STREQ(values[0].text, "all of them");
	OK(!values[0].of && !values[0].label);
	EQ(values[0].value, 1ull << 40);
	STREQ(values[1].of, "page-faults");
	STREQ(values[1].label, "kind");
	EQ(values[1].kind, COUNT_LOSS);
}

/* Whether counters are taken that were changed. */
static int told(const struct counter_value *value)
{
	_cleanup_(buf_done) struct buf b = made();
	_cleanup_(freep) char *strings = NULL;
	struct counter_value values[COUNTER_VALUES_MAX];
	struct channel_frame frame;
	size_t count;

	channel_add_counters(&b, value, 1);
	EQ(channel_parse(CHANNEL_SERVICE, b.data, b.len, 0, &frame), 0);
	return channel_counters(&frame, values, &count, &strings);
}

TEST(channel_refuses_counters_that_could_not_be_shown)
{
	EQ(told(&(struct counter_value){ "fine", "fine", NULL, NULL, COUNT_LOSS, 1 }), 0);
	EQ(told(&(struct counter_value){ "a{b=\"c\"} 7", "fine", NULL, NULL, COUNT_LOSS, 1 }), -EBADMSG);
	EQ(told(&(struct counter_value){ "", "fine", NULL, NULL, COUNT_LOSS, 1 }), -EBADMSG);
	EQ(told(&(struct counter_value){ "fine", "two\nlines", NULL, NULL, COUNT_LOSS, 1 }), -EBADMSG);
	EQ(told(&(struct counter_value){ "fine", NULL, NULL, NULL, COUNT_LOSS, 1 }), -EBADMSG);
	EQ(told(&(struct counter_value){ "fine", "fine", "of", NULL, COUNT_LOSS, 1 }), -EBADMSG);
	EQ(told(&(struct counter_value){ "fine", "fine", "of", "la bel", COUNT_LOSS, 1 }), -EBADMSG);
	EQ(told(&(struct counter_value){ "fine", "fine", NULL, NULL, COUNT_LOSS + 1, 1 }), -EBADMSG);
}

TEST(channel_refuses_counters_that_are_cut_or_go_on)
{
	struct counter_value values[COUNTER_VALUES_MAX];
	_cleanup_(buf_done) struct buf b = made();
	struct channel_frame frame;
	char *strings = NULL;
	size_t count;

	channel_add_counters(&b, some, 2);
	EQ(channel_parse(CHANNEL_SERVICE, b.data, b.len, 0, &frame), 0);
	for (size_t bytes = 4; bytes < frame.bytes; bytes++) {
		struct channel_frame cut = { frame.kind, frame.body, bytes };

		EQ(channel_counters(&cut, values, &count, &strings), -EBADMSG);
	}
	buf_add(&b, "", 1);
	EQ(channel_parse(CHANNEL_SERVICE, b.data, b.len, 0, &frame), 0);
	EQ(channel_counters(&frame, values, &count, &strings), -EBADMSG);
	OK(!strings);
}

static int boost_of(const struct buf *b, struct boost *ret_boost)
{
	struct channel_frame frame;
	int r = channel_parse(CHANNEL_SAMPLER, b->data, b->len, 0, &frame);

	return r < 0 ? r : channel_boost(&frame, ret_boost);
}

TEST(channel_brings_a_boost)
{
	const struct boost sent = { .id = 7, .hz = 200, .seconds = 30, .pid = 42, .uid = 33, .has_uid = true,
				    .service = "shop", .cgroup = "/system.slice" };
	_cleanup_(buf_done) struct buf b = made(), end = made();
	struct channel_frame frame;
	struct boost got;

	channel_add_boost(&b, &sent);
	EQ(boost_of(&b, &got), 0);
	EQ(got.hz, 200);
	EQ(got.seconds, 30);
	OK(boost_is_same(&sent, &got));
	EQ(channel_parse(CHANNEL_SERVICE, b.data, b.len, 0, &frame), -EBADMSG);
	EQ(channel_parse(CHANNEL_SAMPLER, b.data, b.len, 1, &frame), -EBADMSG);
	for (size_t bytes = 0; bytes < b.len; bytes++) {
		struct buf cut = { .data = b.data, .len = bytes };

		EQ(boost_of(&cut, &got), -EBADMSG);
	}
	buf_add(&b, "", 1);
	EQ(boost_of(&b, &got), -EBADMSG);
	channel_add_boost(&end, &(struct boost){ .id = 7 });
	EQ(boost_of(&end, &got), 0);
	EQ(got.hz, 0);
}

TEST(channel_refuses_boosts_out_of_bounds)
{
	static const struct boost bad[] = {
		{ .id = 1, .hz = 1000, .seconds = 1, .pid = 1 },
		{ .id = 1, .hz = 65535, .seconds = 1, .pid = 1 },
		{ .id = 1, .hz = 100, .seconds = 601, .pid = 1 },	{ .id = 1, .hz = 100, .seconds = 0, .pid = 1 },
		{ .id = 1, .hz = 100, .seconds = 1 },			{ .id = 0, .hz = 100, .seconds = 1, .pid = 1 },
		{ .id = 1, .hz = 0, .seconds = 1 },			{ .id = 1, .hz = 0, .pid = 1 },
		{ .id = 1, .hz = 100, .seconds = 1, .service = "\n" },
		{ .id = 1, .hz = 100, .seconds = 1, .pod = "\xff" },
	};
	struct boost got;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		_cleanup_(buf_done) struct buf b = made();

		channel_add_boost(&b, &bad[i]);
		EQ(boost_of(&b, &got), -EBADMSG);
	}
}

TEST(channel_says_what_became_of_a_boost)
{
	_cleanup_(buf_done) struct buf b = made();
	struct boost_event event;
	struct channel_frame frame;

	channel_add_boosted(&b, &(struct boost_event){ 7, BOOST_FULL, 99 });
	EQ(channel_parse(CHANNEL_SERVICE, b.data, b.len, 0, &frame), 0);
	EQ(channel_boosted(&frame, &event), 0);
	EQ(event.id, 7);
	EQ(event.outcome, BOOST_FULL);
	EQ(event.end_ns, 99);
	EQ(channel_parse(CHANNEL_SAMPLER, b.data, b.len, 0, &frame), -EBADMSG);
	b.data[12] = BOOST_OUTCOME_COUNT;
	EQ(channel_parse(CHANNEL_SERVICE, b.data, b.len, 0, &frame), 0);
	EQ(channel_boosted(&frame, &event), -EBADMSG);
}
