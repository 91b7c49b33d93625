// SPDX-License-Identifier: Apache-2.0
#include "base/nearest.h"

#include "test.h"

static const char *closest(const char *word)
{
	static const char *const words[] = { "record", "report", "top", "diff", "convert", "doctor", "frequency" };
	struct nearest n;

	nearest_init(&n, word);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		nearest_try(&n, words[i]);
	return n.best ? n.best : "nothing";
}

TEST(nearest_suggests_what_was_mistyped)
{
	static const struct {
		const char *word, *want;
	} rows[] = {
		{ "reocrd", "record" }, { "rport", "report" },	 { "tpo", "top" },     { "dif", "diff" },
		{ "docter", "doctor" }, { "freq", "frequency" }, { "flame", "nothing" }, { "", "nothing" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		STREQ(closest(rows[i].word), rows[i].want);
}

TEST(nearest_ignores_words_too_long_to_compare)
{
	char word[200];

	memset(word, 'r', sizeof(word) - 1);
	word[sizeof(word) - 1] = '\0';
	STREQ(closest(word), "nothing");
}
