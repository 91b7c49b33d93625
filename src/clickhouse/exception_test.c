// SPDX-License-Identifier: Apache-2.0
#include "clickhouse/exception.h"

#include "test.h"

TEST(clickhouse_exceptions_become_a_sentence)
{
	static const struct {
		const char *said, *text, *name;
		u32 code;
	} cases[] = {
		{ "Code: 60. DB::Exception: Table a.b does not exist. (UNKNOWN_TABLE) (version 26 (official build))\n",
		  "Table a.b does not exist", "UNKNOWN_TABLE", 60 },
		{ "Code: 209. DB::NetException: Timeout exceeded (10 ms). (SOCKET_TIMEOUT)",
		  "Timeout exceeded (10 ms)", "SOCKET_TIMEOUT", 209 },
		{ "Code: 241. DB::Exception: Memory limit (total)", "Memory limit (total)", "", 241 },
		{ "Code: 62. Syntax error\nat line 2", "Syntax error", "", 62 },
		{ "Code: x. DB::Exception: y", "Code: x. DB::Exception: y", "", 0 },
		{ "Code: 60", "Code: 60", "", 0 },
		{ "<html>\n<body>", "<html>", "", 0 },
		{ "a\x1b[31mb\xff", "a?[31mb?", "", 0 },
		{ "", "", "", 0 },
		{ "Code: 1. ()", "", "", 1 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct clickhouse_exception exception;

		clickhouse_exception_parse(cases[i].said, strlen(cases[i].said), &exception);
		STREQ(exception.text, cases[i].text);
		STREQ(exception.name, cases[i].name);
		EQ(exception.code, cases[i].code);
	}
}

TEST(clickhouse_exceptions_are_cut)
{
	struct clickhouse_exception exception;
	char said[9000];

	memset(said, 'e', sizeof(said));
	memcpy(said, "Code: 5. ", 9);
	clickhouse_exception_parse(said, sizeof(said), &exception);
	EQ(strlen(exception.text), sizeof(exception.text) - 1);
	EQ(exception.code, 5);
	clickhouse_exception_parse(NULL, 0, &exception);
	STREQ(exception.text, "");
}

TEST(clickhouse_exceptions_say_whether_to_try_again)
{
	static const struct {
		u32 code;
		int status;
		bool missing, permanent;
	} cases[] = {
		{ 60, 404, true, false }, { 81, 404, true, false }, { 62, 400, false, true },
		{ 62, 500, false, true }, { 516, 500, false, true }, { 252, 500, false, false },
		{ 0, 503, false, false }, { 0, 429, false, false }, { 0, 408, false, false },
		{ 0, 404, false, true }, { 0, 301, false, true }, { 159, 408, false, false },
		{ 202, 500, false, false }, { 241, 500, false, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct clickhouse_exception exception = { .code = cases[i].code };

		EQ(clickhouse_exception_is_missing(&exception), cases[i].missing);
		EQ(clickhouse_exception_is_permanent(&exception, cases[i].status), cases[i].permanent);
	}
}
