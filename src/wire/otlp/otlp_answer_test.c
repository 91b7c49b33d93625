// SPDX-License-Identifier: Apache-2.0
#include "wire/otlp/otlp_answer.h"

#include <errno.h>

#include "test.h"

#define PARSE(text, json, answer) otlp_answer_parse(text, sizeof(text) - 1, json, answer)

TEST(otlp_answer_tells_what_was_rejected)
{
	struct otlp_answer answer;

	EQ(PARSE("\x0a\x07\x08\x05\x12\x03" "bad", false, &answer), 0);
	EQ(answer.rejected, 5);
	STREQ(answer.message, "bad");
	EQ(PARSE("{\"partialSuccess\":{\"rejectedProfiles\":\"5\",\"errorMessage\":\"b\\u0007d\"},\"x\":1}", true,
		 &answer), 0);
	EQ(answer.rejected, 5);
	STREQ(answer.message, "b?d");
	EQ(PARSE("{\"partialSuccess\":{\"rejectedProfiles\":7}}", true, &answer), 0);
	EQ(answer.rejected, 7);
}

TEST(otlp_answer_may_be_empty)
{
	struct otlp_answer answer = { .rejected = 9 };

	EQ(PARSE("", false, &answer), 0);
	EQ(answer.rejected, 0);
	EQ(PARSE("", true, &answer), 0);
	EQ(PARSE("{}", true, &answer), 0);
	EQ(PARSE("{\"partialSuccess\":null}", true, &answer), 0);
	EQ(PARSE("\x0a\x00", false, &answer), 0);
	STREQ(answer.message, "");
	EQ(PARSE("\x0a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", false, &answer), 0);
	EQ(answer.rejected, 0);			/* -1 */
}

TEST(otlp_answer_refuses_what_is_none)
{
	struct otlp_answer answer;

	EQ(PARSE("<html>", false, &answer), -EBADMSG);
	EQ(PARSE("<html>", true, &answer), -EBADMSG);
	EQ(PARSE("[]", true, &answer), -EBADMSG);
	EQ(PARSE("{\"partialSuccess\":1}", true, &answer), -EBADMSG);
	EQ(PARSE("{\"partialSuccess\":{\"rejectedProfiles\":\"many\"}}", true, &answer), -EBADMSG);
	EQ(PARSE("\x0a\x07\x08\x05", false, &answer), -EBADMSG);
	EQ(PARSE("\x08\x05", false, &answer), -EBADMSG);
}
