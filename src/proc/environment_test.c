// SPDX-License-Identifier: Apache-2.0
#include "proc/environment.h"

#include "base/buf.h"
#include "test.h"

#define V "process.environment_variable."

static const struct environment_names names = { (const char *const[]){ "B", "LANG", "EMPTY" }, 3 };

static void expect(const char *text, size_t bytes, const char *want, size_t want_bytes)
{
	struct buf out;

	buf_init(&out, 65536);
	environment_pick(text, bytes, &names, &out);
	EQ(buf_err(&out), 0);
	EQ(out.len, want_bytes);
	OK(!want_bytes || !memcmp(out.data, want, want_bytes));
	buf_done(&out);
}

TEST(environment_takes_only_what_was_asked_for)
{
	static const char text[] = "A=1\0LANG=de\0SECRET=x\0B=2\0LANG=en\0EMPTY=\0BB=3";
	static const char want[] = V "B=2\0" V "LANG=de\0" V "EMPTY=";

	expect(text, sizeof(text), want, sizeof(want));
	expect("", 0, "", 0);
	expect("\0\0\0", 3, "", 0);
	expect("LANG", 4, "", 0);
	expect("LANG=", 5, V "LANG=", sizeof(V) + 5);
	expect("B=no end", 8, V "B=no end", sizeof(V) + 8);
}

TEST(environment_cuts_long_values)
{
	static char text[5000] = "B=";
	struct buf out;

	memset(text + 2, 'x', sizeof(text) - 2);
	buf_init(&out, 65536);
	environment_pick(text, sizeof(text), &names, &out);
	EQ(out.len, sizeof(V) + 1 + ENVIRONMENT_VALUE_MAX + 1);
	buf_done(&out);
}
