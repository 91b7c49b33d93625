// SPDX-License-Identifier: Apache-2.0
#include "cmd/probe.h"

#include "cmd/findings.h"
#include "test.h"

TEST(probe_reads_the_chosen_word)
{
	char word[16];

	OK(probe_bracketed("none [integrity] confidentiality", word, sizeof(word)));
	STREQ(word, "integrity");
	OK(!probe_bracketed("none integrity", word, sizeof(word)));
	OK(!probe_bracketed("none [integrity", word, sizeof(word)));
	OK(!probe_bracketed("[a word that is too long]", word, sizeof(word)));
}

TEST(probe_has_something_to_say_on_any_machine)
{
	static struct findings f;

	probe_machine(&f);
	OK(f.count >= 5);
	EQ(f.left_out, 0);
	STREQ(f.at[0].area, "kernel");
}
