// SPDX-License-Identifier: Apache-2.0
#include "extensions/metric_text.h"

#include "base/buf.h"
#include "test.h"

static const char text[] = "# HELP a is a{x=\"1\"} 5\n# TYPE a counter\na{x=\"1\",y=\"b c\"} 2\na{x=\"1\"} 3.5\n"
			   "a{x=\"11\"} 100\n"
			   "ab 7\na{z=\"\\\"x=\\\"1\"} 1000\nb -1\nc{x=\"}\"} 4";

static double sum(const char *name, const char *key, const char *value)
{
	double result = -99;

	return metric_text_sum(text, name, key, value, &result) ? result : -99;
}

TEST(metric_text_sums_lines_by_name_and_label)
{
	EQ(sum("a", "x", "1") * 10, 55);
	EQ(sum("a", "y", "b c"), 2);
	EQ(sum("a", "x", "2"), -99);
	EQ(sum("a", NULL, NULL) * 10, 11055);
	EQ(sum("ab", NULL, NULL), 7);
	EQ(sum("b", NULL, NULL), -1);
	EQ(sum("c", "x", "}"), 4);
	EQ(sum("b", "x", "1"), -99);
	EQ(sum("nothing", NULL, NULL), -99);
	OK(!metric_text_sum("", "a", NULL, NULL, &(double){ 0 }));
}

TEST(metric_text_becomes_json)
{
	struct buf out;

	buf_init(&out, 4096);
	metric_text_json("# TYPE a counter\na{x=\"1\"} 2\nb NaN\n", &out);
	buf_add(&out, "", 1);
	STREQ(out.data, "\n\"a{x=\\\"1\\\"}\": 2,\n\"b\": \"NaN\"");
	buf_done(&out);
}
