// SPDX-License-Identifier: Apache-2.0
#include "exporters/pyroscope_answer.h"

#include "test.h"

static bool parse(const char *text, u32 series, struct pyroscope_answer *ret_answer)
{
	return pyroscope_answer_parse(text, strlen(text), series, false, ret_answer);
}

TEST(pyroscope_answers_name_the_series_that_failed)
{
	struct pyroscope_answer answer;

	OK(parse("failed to make a GRPC request: 3 errors: push series with index 9 and id a-b failed: "
		 "invalid_argument: profile with labels has 31 label names; push series with index 0 and id c failed: "
		 "resource_exhausted: push rate limit (4.0 MiB) exceeded; "
		 "push series with index 9 and id a-b failed: again", 10, &answer));
	EQ(answer.refused_count, 1);
	EQ(answer.refused[1], 2);
	EQ(answer.limited_count, 1);
	EQ(answer.limited[0], 1);
}

TEST(pyroscope_answers_of_a_server_that_is_not_well_refuse_only_what_is_invalid)
{
	static const char text[] = "2 errors: push series with index 3 and id a failed: rpc error: code = Unavailable; "
				   "push series with index 1 and id b failed: invalid_argument: 31 label names";
	struct pyroscope_answer answer;

	OK(pyroscope_answer_parse(text, strlen(text), 4, true, &answer));
	EQ(answer.limited_count, 1);
	EQ(answer.limited[0], 1 << 3);
	EQ(answer.refused_count, 1);
	EQ(answer.refused[0], 1 << 1);
	OK(parse(text, 4, &answer));
	EQ(answer.refused_count, 2);
}

TEST(pyroscope_answers_that_make_no_sense_name_none)
{
	struct pyroscope_answer answer;

	OK(!parse("", 10, &answer));
	OK(!parse("failed to convert otel profile: sample type is missing", 10, &answer));
	OK(!parse("push series with index 10 and id x failed", 10, &answer));
	OK(!parse("push series with index 99999999999999999999 and id x failed", 200, &answer));
	OK(!parse("push series with index ", 10, &answer));
	OK(!parse("push series with index 1; push series with index x", 10, &answer));
}
