// SPDX-License-Identifier: Apache-2.0
#include "clickhouse/tuples.h"

#include <errno.h>

#include "base/cleanup.h"
#include "test.h"

#define BYTES(literal) literal, sizeof(literal) - 1

static int begin(struct tuples *tuples, const char *at, size_t bytes, const char *types)
{
	tuples_init(tuples, 4096);
	buf_add(&tuples->body, at, bytes);
	return tuples_begin(tuples, types);
}

TEST(tuples_read_rows_of_known_types)
{
	static const char body[] =
		"\3\1s\1v\1a\26LowCardinality(String)\5Int64\34Array(LowCardinality(String))"
		"\2ab\376\377\377\377\377\377\377\377\2\1x\0"
		"\0\1\0\0\0\0\0\0\0\0";
	_cleanup_(tuples_done) struct tuples tuples;

	EQ(begin(&tuples, body, sizeof(body) - 2, "String, Int64, Array(String)"), -EBADMSG);
	tuples_done(&tuples);
	EQ(begin(&tuples, BYTES("\3\1s\1v\1a\26LowCardinality(String)\5Int64\35Array(LowCardinality(String))"
				"\2ab\376\377\377\377\377\377\377\377\2\1x\0"
				"\0\1\0\0\0\0\0\0\0\0"), "String, Int64, Array(String)"), 0);
	OK(tuples_next(&tuples));
	EQ(tuples_text(&tuples).len, 2);
	EQ(tuples_int(&tuples, 8), -2);
	EQ(tuples_count(&tuples), 2);
	EQ(tuples_text(&tuples).at[0], 'x');
	EQ(tuples_text(&tuples).len, 0);
	OK(tuples_next(&tuples));
	EQ(tuples_text(&tuples).len, 0);
	EQ(tuples_int(&tuples, 8), 1);
	EQ(tuples_count(&tuples), 0);
	OK(!tuples_next(&tuples));
	EQ(tuples_err(&tuples), 0);
}

TEST(tuples_of_other_types_are_refused)
{
	static const char *const types[] = { "Map(LowCardinality(String), Tuple(UInt8, LowCardinality(String)))",
					     "UInt64" };
	static const char *const plain[] = { "Map(String, Tuple(UInt8, String))", "UInt64" };

	for (int i = 0; i < 2; i++) {
		_cleanup_(tuples_done) struct tuples tuples;
		char body[200];
		int bytes = snprintf(body, sizeof(body), "%c%c%s%c%s", 1, 1, "n", (int)strlen(types[i]), types[i]);

		EQ(begin(&tuples, body, (size_t)bytes, plain[i]), 0);
		tuples_done(&tuples);
		EQ(begin(&tuples, body, (size_t)bytes, "String"), -EBADMSG);
		tuples_done(&tuples);
		EQ(begin(&tuples, body, (size_t)bytes - 1, plain[i]), -EBADMSG);
	}
}

TEST(tuples_never_end_past_their_end)
{
	_cleanup_(tuples_done) struct tuples tuples;

	EQ(begin(&tuples, BYTES("\1\1n\6String\377\377\377\377\377\1abc"), "String"), 0);
	OK(tuples_next(&tuples));
	EQ(tuples_text(&tuples).len, 0);
	EQ(tuples_err(&tuples), -EBADMSG);
	OK(!tuples_next(&tuples));
	tuples_done(&tuples);
	EQ(begin(&tuples, BYTES("\1\1n\6String\5a"), "String"), 0);
	EQ(tuples_count(&tuples), 0);
	EQ(tuples_err(&tuples), -EBADMSG);
	tuples_done(&tuples);
	EQ(begin(&tuples, BYTES(""), ""), 0);
	OK(!tuples_next(&tuples));
	tuples_done(&tuples);
	EQ(begin(&tuples, BYTES(""), "String"), -EBADMSG);
}
