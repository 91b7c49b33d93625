// SPDX-License-Identifier: Apache-2.0
#include "web/sessions.h"

#include <string.h>

#include "test.h"

TEST(sessions_are_good_until_they_end)
{
	static struct sessions s;
	char a[SESSION_BYTES], b[SESSION_BYTES];

	sessions_init(&s);
	EQ(sessions_begin(&s, 1, a), 0);
	EQ(sessions_begin(&s, 2, b), 0);
	OK(strcmp(a, b) && strlen(a) == SESSION_BYTES - 1);
	OK(sessions_has(&s, a, 3) && sessions_has(&s, b, 3));
	OK(!sessions_has(&s, "", 3) && !sessions_has(&s, "00000000000000000000000000000000", 3));
	sessions_end(&s, a);
	OK(!sessions_has(&s, a, 3) && sessions_has(&s, b, 3));
	OK(!sessions_has(&s, b, 2 + SESSION_NS));
	sessions_done(&s);
}

TEST(sessions_make_room_for_new_ones)
{
	static struct sessions s;
	char first[SESSION_BYTES], second[SESSION_BYTES], last[SESSION_BYTES];

	sessions_init(&s);
	EQ(sessions_begin(&s, 1, first), 0);
	EQ(sessions_begin(&s, 2, second), 0);
	for (u32 i = 2; i <= SESSIONS_MAX; i++)
		EQ(sessions_begin(&s, 1 + i, last), 0);
	OK(!sessions_has(&s, first, 1000) && sessions_has(&s, second, 1000) && sessions_has(&s, last, 1000));
	sessions_done(&s);
}
