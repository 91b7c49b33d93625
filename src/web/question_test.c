// SPDX-License-Identifier: Apache-2.0
#include "web/question.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "test.h"

#define NOW_NS 1800000000000000000ull
#define SECOND 1000000000ull

static struct question question;
static char why[512];

/* The answer of a call that puts a sentence into a buffer. */
#define TOLD(call)										\
	({											\
		struct buf sentence;								\
		int told;									\
												\
		buf_init(&sentence, sizeof(why) - 1);						\
		told = (call);									\
		snprintf(why, sizeof(why), "%.*s", (int)sentence.len, sentence.len ? sentence.data : "");	\
		buf_done(&sentence);								\
		told;										\
	})

static int parse(const char *query)
{
	return TOLD(question_parse(query, NOW_NS, &question, &sentence));
}

static int parse_repeated(const char *pair, u32 times, const char *last)
{
	struct buf query;
	int r;

	buf_init(&query, 1 << 16);
	for (u32 i = 0; i < times; i++)
		buf_addf(&query, "%s", pair);
	buf_addf(&query, "%s", last);
	r = parse(query.data);
	buf_done(&query);
	return r;
}

static void refuses(const char *query, const char *part)
{
	if (parse(query) != -EINVAL || !strstr(why, part))
		FAIL("%.40s: \"%s\", not \"%s\"", query, why, part);
}

TEST(question_decodes_keys_and_values)
{
	EQ(parse("a=1&b%3d=x%2By+z&&=e&c&a=2&d=&e=%e4%C3%0a%7F"), 0);
	EQ(question.count, 7);
	STREQ(question_text(&question, "a", "?"), "1");
	STREQ(question_text(&question, "b=", "?"), "x+y z");
	STREQ(question_text(&question, "", "?"), "e");
	STREQ(question_text(&question, "c", "?"), "");
	STREQ(question_text(&question, "d", "?"), "");
	STREQ(question_text(&question, "e", "?"), "\xe4\xc3\n\x7f");
	STREQ(question_text(&question, "f", "?"), "?");
	OK(!question_text(&question, "f", NULL));
}

TEST(question_refuses_what_is_not_hexadecimal)
{
	static const char *const cases[] = { "a=%", "a=%4", "a=%4g", "a=%g4", "a=%%20", "%=a", "a=b%0", "a=%00",
					     "%00=a" };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		refuses(cases[i], "not followed by two");
	EQ(parse("a=%01"), 0);
	EQ(parse("a=%10"), 0);
}

TEST(question_has_bounds)
{
	static char text[QUESTION_BYTES_MAX + 2];

	memset(text, 'a', sizeof(text));
	text[QUESTION_BYTES_MAX - 1] = '\0';
	EQ(parse(text), 0);
	text[QUESTION_BYTES_MAX - 1] = 'a';
	text[QUESTION_BYTES_MAX] = '\0';
	refuses(text, "longer than 16384 bytes");
	EQ(parse_repeated("a=1&", QUESTION_PAIRS_MAX, ""), 0);
	EQ(question.count, QUESTION_PAIRS_MAX);
	EQ(parse_repeated("a=1&", QUESTION_PAIRS_MAX, "b"), -EINVAL);
	STREQ(why, "more than 64 parameters");
	EQ(parse_repeated("where=pid~1&", STORE_FILTERS_MAX, ""), 0);
	EQ(question.selection.filter_count, STORE_FILTERS_MAX);
	EQ(parse_repeated("pid=1&", STORE_FILTERS_MAX, "where=pid~1"), -EINVAL);
	OK(strstr(why, "filters"));
}

TEST(question_forgets_the_one_before)
{
	EQ(parse("pid=1&x=y"), 0);
	EQ(parse("z=1"), 0);
	EQ(question.selection.filter_count, 0);
	EQ(question.count, 1);
}

TEST(question_reads_times)
{
	static const struct {
		const char *text;
		u64 ns;
	} cases[] = {
		{ "now", NOW_NS },
		{ "now-0s", NOW_NS },
		{ "now-90s", NOW_NS - 90 * SECOND },
		{ "now-15m", NOW_NS - 900 * SECOND },
		{ "now-2h", NOW_NS - 7200 * SECOND },
		{ "now-3d", NOW_NS - 3 * 86400 * SECOND },
		{ "now-1800000000s", 0 },
		{ "0", 0 },
		{ "1", SECOND },
		{ "1.", SECOND },
		{ "1.5", SECOND + SECOND / 2 },
		{ "1.000000001", SECOND + 1 },
		{ "1.0000000019", SECOND + 1 },
		{ "12.123456789", 12123456789 },
	};
	char query[64];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		(void)snprintf(query, sizeof(query), "from=%s&to=1900000000", cases[i].text);
		EQ(parse(query), 0);
		EQ(question.selection.from_ns, cases[i].ns);
		EQ(question.selection.to_ns, 1900000000 * SECOND);
	}
}

TEST(question_refuses_what_is_no_time)
{
	static const char *const cases[] = {
		"x", "-1", "1x", "1.5x", ".5", "now+1h", "now-", "now-h", "now-1", "now-1y", "now-1hh", "now--1h",
		"now-+1h", "nowx", "now-99999999999999999999s", "now-1800000001s", "now-20834d", "17179869181",
		"99999999999999999999",
	};
	char query[64];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		(void)snprintf(query, sizeof(query), "from=%s", cases[i]);
		refuses(query, "from is to be seconds since 1970");
		(void)snprintf(query, sizeof(query), "to=%s", cases[i]);
		refuses(query, "to is to be seconds since 1970");
	}
	EQ(parse("from=now-20833d"), 0);
	EQ(parse("to=17179869180"), 0);
}

TEST(question_ranges_begin_before_they_end)
{
	refuses("from=5&to=5", "from is to be before to");
	refuses("from=6&to=5", "from is to be before to");
	EQ(parse("from=5&to=5.000000001"), 0);
	/* A quarter of an hour unless it is said, and never before 1970. */
	EQ(parse("to=900"), 0);
	EQ(question.selection.from_ns, 0);
	EQ(parse("to=901"), 0);
	EQ(question.selection.from_ns, SECOND);
	EQ(parse("to=5"), 0);
	EQ(question.selection.from_ns, 0);
	refuses("to=0", "from is to be before to");
}

TEST(question_compares_with_another_range_and_the_same_filters)
{
	struct store_selection base;

	EQ(parse("from=100&to=200&base_from=10&base_to=20&pid=7"), 0);
	EQ(TOLD(question_base(&question, NOW_NS, &base, &sentence)), 0);
	EQ(base.from_ns, 10 * SECOND);
	EQ(base.to_ns, 20 * SECOND);
	EQ(base.filter_count, 1);
	EQ(question.selection.from_ns, 100 * SECOND);
	EQ(parse("from=100&base_from=10&base_to=20&pid=7&type=cpu&base_where=service%3Ddb&base_where=host%7Ea"), 0);
	EQ(TOLD(question_base(&question, NOW_NS, &base, &sentence)), 0);
	EQ(base.filter_count, 3);
	STREQ(base.filters[0].value, "db");
	EQ(base.filters[1].match, STORE_CONTAINS);
	EQ(base.filters[2].label, STORE_TYPE);
	EQ(question.selection.filter_count, 2);
	EQ(parse("pid=7&base_where="), 0);
	EQ(TOLD(question_base(&question, NOW_NS, &base, &sentence)), 0);
	EQ(base.filter_count, 0);
	EQ(parse("base_where=nothing"), -EINVAL);
	EQ(parse("base_from=20&base_to=10"), 0);
	EQ(TOLD(question_base(&question, NOW_NS, &base, &sentence)), -EINVAL);
	STREQ(why, "base_from is to be before base_to");
}

TEST(question_reads_whole_numbers_within_bounds)
{
	static const struct {
		const char *query;
		int r;
		u32 number;
	} cases[] = {
		{ "", 0, 77 },		{ "n=", 0, 77 },	 { "n=5", 0, 5 },	  { "n=10", 0, 10 },
		{ "n=007", 0, 7 },	{ "n=4", -EINVAL, 77 },	 { "n=11", -EINVAL, 77 }, { "n=-6", -EINVAL, 77 },
		{ "n=%2b6", -EINVAL, 77 }, { "n=+6", -EINVAL, 77 }, { "n=6x", -EINVAL, 77 }, { "n=6.0", -EINVAL, 77 },
		{ "n=99999999999999999999", -EINVAL, 77 }, { "n=x", -EINVAL, 77 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		u32 number = 77;

		EQ(parse(cases[i].query), 0);
		EQ(TOLD(question_number(&question, "n", 5, 10, &number, &sentence)), cases[i].r);
		EQ(number, cases[i].number);
		STREQ(why, cases[i].r ? "n is to be a number from 5 to 10" : "");
	}
}

TEST(question_reads_names_of_labels)
{
	enum store_label label = STORE_PID;

	EQ(parse("by=host&odd=hosts&none="), 0);
	EQ(TOLD(question_label(&question, "by", &label, &sentence)), 0);
	EQ(label, STORE_HOST);
	EQ(TOLD(question_label(&question, "none", &label, &sentence)), 0);
	EQ(label, STORE_LABEL_COUNT);
	label = STORE_PID;
	EQ(TOLD(question_label(&question, "missing", &label, &sentence)), 0);
	EQ(label, STORE_LABEL_COUNT);
	EQ(TOLD(question_label(&question, "odd", &label, &sentence)), -EINVAL);
	OK(strstr(why, "odd: there is no label of that name; labels are "));
	for (u32 i = 0; i < STORE_LABEL_COUNT; i++)
		OK(strstr(why, store_label_name(i)));
}

TEST(question_reads_conditions)
{
	static const struct {
		const char *where;
		enum store_label label;
		enum store_match match;
		const char *value;
	} cases[] = {
		{ "pid=12", STORE_PID, STORE_EQUAL, "12" },
		{ "pid!=12", STORE_PID, STORE_NOT_EQUAL, "12" },
		{ "thread~a=b", STORE_THREAD, STORE_CONTAINS, "a=b" },
		{ "thread=a~b!", STORE_THREAD, STORE_EQUAL, "a~b!" },
		{ "thread=", STORE_THREAD, STORE_EQUAL, "" },
		{ "thread!=", STORE_THREAD, STORE_NOT_EQUAL, "" },
		{ "trace=AB", STORE_TRACE, STORE_EQUAL, "ab" },
		{ "span~CD", STORE_SPAN, STORE_CONTAINS, "cd" },
		{ "host=AB", STORE_HOST, STORE_EQUAL, "AB" },
	};
	char query[64];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct store_filter *filter = &question.selection.filters[0];

		(void)snprintf(query, sizeof(query), "where=%s", cases[i].where);
		EQ(parse(query), 0);
		EQ(question.selection.filter_count, 1);
		EQ(filter->label, cases[i].label);
		EQ(filter->match, cases[i].match);
		STREQ(filter->value, cases[i].value);
	}
	refuses("where=", "where is to be");
	refuses("where=host!a", "where is to be");
	refuses("where=host!", "where is to be");
	refuses("where==a", "no such label");
	refuses("where=Host=a", "no such label");
}

TEST(question_reads_labels_of_samples)
{
	enum store_label label = STORE_PID;

	EQ(parse("label.tenant=acme&where=label.http.route~%2Fa&where=label.tenant!=b&by=label.job"
		 "&base_where=label.job=x"), 0);
	EQ(question.selection.filter_count, 3);
	EQ(question.selection.filters[0].label, STORE_KEY);
	STREQ(question.selection.filters[0].value, "acme");
	EQ(question.selection.filters[1].label, STORE_KEY + 1);
	EQ(question.selection.filters[1].match, STORE_CONTAINS);
	EQ(question.selection.filters[2].label, STORE_KEY);
	EQ(question.base.filters[0].label, STORE_KEY + 2);
	EQ(TOLD(question_label(&question, "by", &label, &sentence)), 0);
	EQ(label, STORE_KEY + 2);
	OK(question.selection.keys == question.base.keys);
	EQ(question.keys.count, 3);
	STREQ(question.keys.at[0], "tenant");
	STREQ(question.keys.at[1], "http.route");
	STREQ(question.keys.at[2], "job");
	refuses("where=label.=a", "label.KEY");
	refuses("where=label=a", "no such label");
	refuses("where=labels.a=a", "no such label");
}

TEST(question_takes_no_more_keys_than_fit)
{
	char query[1024] = "";

	for (u32 i = 0, at = 0; i < STORE_KEYS_MAX; i++)
		at += (u32)snprintf(query + at, sizeof(query) - at, "label.%u=x&", i);
	EQ(parse(query), 0);
	EQ(question.keys.count, STORE_KEYS_MAX);
	snprintf(query + strlen(query), 16, "by=label.one");
	EQ(parse(query), 0);
	EQ(TOLD(question_label(&question, "by", &(enum store_label){ 0 }, &sentence)), -EINVAL);
}
