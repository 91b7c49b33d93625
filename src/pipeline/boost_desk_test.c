// SPDX-License-Identifier: Apache-2.0
#include "pipeline/boost_desk.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "test.h"

/* A sampler that says of each what it is told to. */
struct teller {
	struct boost_desk *desk;
	struct boost sent;
	u32 count;
	int result;
};

static int send(void *arg, const struct boost *boost)
{
	struct teller *t = arg;

	t->sent = *boost;
	t->count++;
	return t->result;
}

static int start(struct boost_desk *desk, struct boost *boost, struct buf *why)
{
	why->len = 0;
	return boost_desk_start(desk, boost, "uid 0", 0, why);
}

TEST(boost_desk_hands_on_what_is_asked_for)
{
	_cleanup_(boost_desk_freep) struct boost_desk *desk = boost_desk_new();
	struct teller teller = { .desk = desk };
	struct boost boost = { .hz = 200, .seconds = 5, .service = "shop" };
	struct boost_row rows[BOOST_ROWS_MAX];
	_cleanup_(buf_done) struct buf why;

	buf_init(&why, 1024);
	EQ(start(desk, &boost, &why), -ENODEV);
	EQ(boost_desk_usual_hz(desk), 0);
	boost_desk_join(desk, 20, send, &teller);
	EQ(boost_desk_usual_hz(desk), 20);
	EQ(start(desk, &boost, &why), -ETIMEDOUT);
	EQ(teller.count, 2);
	EQ(teller.sent.hz, 0);		/* withdrawn */
	boost_desk_note(desk, &(struct boost_event){ boost.id, BOOST_RUNS, UINT64_MAX / 2 });
	EQ(boost_desk_list(desk, rows), 1);
	EQ(rows[0].outcome, BOOST_RUNS);
	STREQ(rows[0].who, "uid 0");
	EQ(boost_desk_stop(desk, boost.id), 0);
	EQ(teller.sent.hz, 0);
	EQ(teller.sent.id, boost.id);
	boost_desk_note(desk, &(struct boost_event){ boost.id, BOOST_STOPPED, 0 });
	EQ(boost_desk_stop(desk, boost.id), -ENOENT);
	EQ(boost_desk_stop(desk, 99), -ENOENT);
}

TEST(boost_desk_sends_nothing_that_cannot_be_meant)
{
	_cleanup_(boost_desk_freep) struct boost_desk *desk = boost_desk_new();
	struct teller teller = { .desk = desk, .result = -ENOTCONN };
	struct boost fast = { .hz = 1000, .seconds = 5, .pid = 1 }, good = { .hz = 100, .seconds = 5, .pid = 1 };
	_cleanup_(buf_done) struct buf why;

	buf_init(&why, 1024);
	boost_desk_join(desk, 20, send, &teller);
	EQ(start(desk, &fast, &why), -EINVAL);
	EQ(teller.count, 0);
	EQ(start(desk, &good, &why), -ENODEV);
	EQ(teller.count, 1);
	boost_desk_set_tight(desk, true);
	EQ(start(desk, &good, &why), -EBUSY);
	EQ(teller.count, 1);
	OK(strstr(why.data, "budget"));
}

TEST(boost_desk_knows_that_all_ends_with_the_sampler)
{
	_cleanup_(boost_desk_freep) struct boost_desk *desk = boost_desk_new();
	struct teller teller = { .desk = desk };
	struct boost boost = { .hz = 200, .seconds = 5, .pid = 1 };
	struct boost_row rows[BOOST_ROWS_MAX];
	_cleanup_(buf_done) struct buf why;

	buf_init(&why, 1024);
	boost_desk_join(desk, 20, send, &teller);
	(void)start(desk, &boost, &why);
	boost_desk_note(desk, &(struct boost_event){ boost.id, BOOST_RUNS, UINT64_MAX / 2 });
	boost_desk_gone(desk);
	EQ(boost_desk_list(desk, rows), 1);
	EQ(rows[0].outcome, BOOST_STOPPED);
	for (u32 i = 0; i < 2 * BOOST_ROWS_MAX; i++) {
		boost.pid = i + 1;
		(void)start(desk, &boost, &why);
	}
	EQ(boost_desk_list(desk, rows), BOOST_ROWS_MAX);
	EQ(rows[0].boost.pid, 2 * BOOST_ROWS_MAX);
	boost_desk_leave(desk, &why);	/* another has joined since: nothing to it */
	EQ(boost_desk_usual_hz(desk), 20);
	boost_desk_leave(desk, &teller);
	EQ(boost_desk_usual_hz(desk), 0);
	boost_desk_note(NULL, NULL);
}
