// SPDX-License-Identifier: Apache-2.0
#include "clickhouse/sent.h"

#include "test.h"

TEST(sent_stacks_are_known_by_day)
{
	struct sent *sent = sent_new(1000);

	sent_add(sent, sent_key(7, 20000));
	OK(sent_has(sent, sent_key(7, 20000)));
	OK(!sent_has(sent, sent_key(7, 20001)));
	OK(!sent_has(sent, sent_key(8, 20000)));
	sent_clear(sent);
	OK(!sent_has(sent, sent_key(7, 20000)));
	EQ(sent_forgotten(sent), 0);
	sent_free(sent);
}

TEST(sent_forgets_what_was_not_asked_for)
{
	struct sent *sent = sent_new(8);
	u64 kept = sent_key(1, 1);

	sent_add(sent, kept);
	for (u64 i = 2; i < 100; i++) {
		OK(sent_has(sent, kept));
		sent_add(sent, sent_key(i, 1));
		sent_add(sent, sent_key(i, 1));
	}
	OK(!sent_has(sent, sent_key(2, 1)));
	EQ(sent_forgotten(sent), 99 - 8);
	sent_free(sent);
}
