// SPDX-License-Identifier: Apache-2.0
#include "web/lists_json.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "pipeline/arrivals.h"
#include "test.h"
#include "web/series_json.h"

static char text[65536];

/* What was written, as a string. */
static const char *taken(struct buf *out)
{
	EQ(buf_err(out), 0);
	snprintf(text, sizeof(text), "%.*s", (int)out->len, out->data);
	buf_done(out);
	return text;
}

static struct buf *fresh(void)
{
	static struct buf out;

	buf_init(&out, sizeof(text));
	return &out;
}

TEST(arrivals_are_told_with_who_and_why)
{
	struct arrival at = { .number = 7, .time_ns = 1500000000, .kind = ARRIVAL_REQUEST, .level = LOG_LEVEL_ERROR,
			      .component = "otlp", .protocol = "grpc", .peer = "10.0.0.1:5", .agent = "a\"b",
			      .bytes = 10, .samples = 3, .resources = 1, .text = "no" };
	struct buf *out = fresh();

	EQ(arrivals_json(&at, 1, 2, out), 0);
	STREQ(taken(out), "{\"last\":7,\"rows\":[{\"number\":7,\"time\":1.5,\"kind\":\"request\",\"level\":\"error\","
			  "\"component\":\"otlp\",\"protocol\":\"grpc\",\"peer\":\"10.0.0.1:5\",\"agent\":\"a\\\"b\","
			  "\"bytes\":10,\"samples\":3,\"resources\":1,\"text\":\"no\"}]}");
	out = fresh();
	EQ(arrivals_json(&at, 0, 2, out), 0);
	STREQ(taken(out), "{\"last\":2,\"rows\":[]}");
}

TEST(series_are_columns_with_a_line_for_each_process)
{
	struct series_row rows[2] = {
		{ .start_ns = SECOND_NS, .end_ns = 2 * SECOND_NS },
		{ .start_ns = 2 * SECOND_NS, .end_ns = 3 * SECOND_NS },
	};
	struct buf *out = fresh();

	rows[0].numbers[SERIES_BUSY] = 1500;
	rows[1].top[SERIES_BY_CPU] = (struct series_top){ 1, { { 12, 250, "prog" } } };
	rows[1].top[SERIES_BY_MEMORY] = (struct series_top){ 1, { { 13, 4096, "big" } } };
	EQ(series_json("here", &(struct series_rows){ .at = rows, .count = 2 }, out), 0);
	taken(out);
	OK(strstr(text, "{\"host\":\"here\",\"source\":\"proc\",\"start\":[1,2],\"end\":[2,3],"));
	OK(strstr(text, "\"busy\":[1.5,0],"));
	OK(strstr(text, "\"by_cpu\":[{\"pid\":12,\"name\":\"prog\",\"values\":[0,0.25]}],"));
	OK(strstr(text, "\"by_memory\":[{\"pid\":13,\"name\":\"big\",\"values\":[0,4096]}]}"));
}

TEST(series_of_samples_have_no_memory)
{
	double values[2] = { 0.5, 1 }, more[2] = { 1, 0 };
	struct store_line lines[2] = { { "prog", values, 1.5 }, { "other", more, 1 } };
	struct store_chart chart = { .line_count = 2, .bucket_count = 2, .lines = lines };
	struct buf *out = fresh();

	EQ(series_json_chart("away", &chart, 0, 4 * SECOND_NS, out), 0);
	STREQ(taken(out), "{\"host\":\"away\",\"source\":\"samples\",\"start\":[0,2],\"end\":[2,4],\"busy\":[1.5,1],"
			  "\"by_cpu\":[{\"name\":\"prog\",\"values\":[0.5,1]},{\"name\":\"other\",\"values\":[1,0]}]}");
}
