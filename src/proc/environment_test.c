// SPDX-License-Identifier: Apache-2.0
#include "proc/environment.h"

#include <unistd.h>

#include "test.h"

static const struct environment_names names = { (const char *const[]){ "B", "LANG", "EMPTY" }, 3 };

static void expect(const char *text, size_t bytes, const char *want, size_t want_bytes)
{
	struct environment e;

	EQ(environment_pick(text, bytes, &names, &e), 0);
	EQ(e.bytes, want_bytes);
	OK(!want_bytes || !memcmp(e.text, want, want_bytes));
	free(e.text);
}

TEST(environment_takes_only_what_was_asked_for)
{
	static const char text[] = "A=1\0LANG=de\0SECRET=x\0B=2\0LANG=en\0EMPTY=\0BB=3";
	static const char want[] = "B=2\0LANG=de\0EMPTY=";

	expect(text, sizeof(text), want, sizeof(want));
	expect("", 0, "", 0);
	expect("\0\0\0", 3, "", 0);
	expect("LANG", 4, "", 0);
	expect("LANG=", 5, "LANG=", 6);
	expect("B=no end", 8, "B=no end", 9);
}

TEST(environment_cuts_long_values)
{
	static char text[5000] = "B=";
	struct environment e;

	memset(text + 2, 'x', sizeof(text) - 2);
	EQ(environment_pick(text, sizeof(text), &names, &e), 0);
	EQ(e.bytes, 2 + ENVIRONMENT_VALUE_MAX + 1);
	free(e.text);
}

TEST(environment_is_nothing_for_a_process_that_is_gone)
{
	struct environment e;

	EQ(environment_read(NULL, 0, 0, &names, &e), 0);
	OK(!e.text && !e.bytes);
}
