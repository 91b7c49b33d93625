// SPDX-License-Identifier: Apache-2.0
#include "web/boosts.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "pipeline/boost_desk.h"
#include "test.h"

static int read_form(const char *form, struct boost *ret_boost, struct buf *why)
{
	why->len = 0;
	return boosts_read_form(form, "here", 20, ret_boost, why);
}

TEST(boosts_are_read_from_a_form)
{
	_cleanup_(buf_done) struct buf why;
	struct boost b;

	buf_init(&why, 1024);
	EQ(read_form("service=my+shop&rate=300&seconds=7", &b, &why), 0);
	STREQ(b.service, "my shop");
	EQ(b.hz, 300);
	EQ(b.seconds, 7);
	EQ(read_form("process=python3&pid=42&user=33&host=here&cgroup=%2Fsystem.slice", &b, &why), 0);
	STREQ(b.executable, "python3");
	STREQ(b.cgroup, "/system.slice");
	EQ(b.pid, 42);
	OK(b.has_uid);
	EQ(b.uid, 33);
	EQ(b.hz, 200);		/* ten times the usual rate, for half a minute */
	EQ(b.seconds, 30);
	EQ(read_form("user=root", &b, &why), 0);
	OK(b.has_uid);
	EQ(b.uid, 0);
}

TEST(boosts_that_would_be_of_more_than_was_meant_are_refused)
{
	static const struct {
		const char *form, *words;
	} cases[] = {
		{ "service=x&thread=y", "thread" }, { "service=x&where=service%3Dx", "where" },
		{ "service=x&host=there", "this is here" }, { "service=x&rate=1000", "rate" },
		{ "service=x&rate=-1", "rate" }, { "service=x&seconds=601", "seconds" }, { "pid=x", "pid" },
		{ "user=nobody-is-called-so", "no user" },
	};
	_cleanup_(buf_done) struct buf why;
	struct boost b;

	buf_init(&why, 1024);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		EQ(read_form(cases[i].form, &b, &why), -EINVAL);
		OK(strstr(why.data, cases[i].words));
	}
}

static int send(void *arg, const struct boost *boost)
{
	(void)arg;
	(void)boost;
	return 0;
}

TEST(boosts_are_listed_as_json)
{
	_cleanup_(boost_desk_freep) struct boost_desk *desk = boost_desk_new();
	struct boost a = { .hz = 200, .seconds = 5, .service = "a\"b" }, b = { .hz = 300, .seconds = 5, .pid = 7 };
	_cleanup_(buf_done) struct buf out, why;

	buf_init(&out, 65536);
	buf_init(&why, 1024);
	boosts_json(NULL, &out);
	buf_add(&out, "", 1);
	STREQ(out.data, "{\"usual_rate\":0,\"rate_max\":999,\"seconds_max\":600,\"rows\":[]}");
	boost_desk_join(desk, 20, send, NULL);
	(void)boost_desk_start(desk, &a, "uid 0", 0, &why);
	boost_desk_note(desk, &(struct boost_event){ a.id, BOOST_RUNS, UINT64_MAX / 2 });
	(void)boost_desk_start(desk, &b, "uid 1", 0, &why);
	boost_desk_note(desk, &(struct boost_event){ b.id, BOOST_FULL, 0 });
	out.len = 0;
	boosts_json(desk, &out);
	buf_add(&out, "", 1);
	OK(strstr(out.data, "\"where\":{\"service\":\"a\\\"b\"},\"rate\":200,\"seconds\":5,\"state\":\"runs\""));
	OK(strstr(out.data, "\"where\":{\"pid\":7},\"rate\":300,\"seconds\":5,\"state\":\"refused\",\"left\":0"));
	OK(strstr(out.data, "\"by\":\"uid 1\""));
}
