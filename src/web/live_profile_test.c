// SPDX-License-Identifier: Apache-2.0
#include "web/live_profile.h"

#include "test.h"

TEST(live_questions_have_defaults_and_bounds)
{
	static const struct {
		const char *query;
		u32 seconds, frequency_hz;
		s64 pid;
	} good[] = {
		{ "", 30, 0, 0 }, { "seconds=1", 1, 0, 0 }, { "debug=1&seconds=300&pid=7&hz=19", 300, 19, 7 },
		{ "pid=0", 30, 0, 0 }, { "nanoseconds=5", 30, 0, 0 },
	};
	static const char *const bad[] = {
		"seconds=0", "seconds=301", "seconds=", "seconds=-1", "seconds=1.5", "seconds=1x",
		"seconds=99999999999999999999", "pid=x", "pid=-1", "pid=4294967296", "hz=fast", "hz=1000000",
	};
	struct live_question q;

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		OK(!live_question_parse(good[i].query, &q));
		EQ(q.seconds, good[i].seconds);
		EQ(q.frequency_hz, good[i].frequency_hz);
		EQ(q.pid, good[i].pid);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		if (!live_question_parse(bad[i], &q))
			FAIL("%s is taken", bad[i]);
	}
}
