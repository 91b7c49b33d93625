// SPDX-License-Identifier: Apache-2.0
#include "pipeline/taps.h"

#include <errno.h>
#include <stdint.h>

#include "base/clock.h"
#include "profile/profile.h"
#include "test.h"

#define SECOND 1000000000ull

/* A process that was sampled once, at that time. */
static struct profile *window(s64 pid, u64 time_unix_ns)
{
	const struct keyvalue attribute = { STR("process.pid"), { .kind = ANY_INT, .integer = pid } };
	struct profile *p = profile_new();
	struct profile_set *set = profile_add_set(p, profile_add_scope(p, profile_add_resource(p, &attribute, 1)));
	struct profile_sample *sample = profile_add_sample(p, set);

	(void)profile_add_cstring(p, "of somebody else");
	sample->times_unix_ns = profile_copy(p, &time_unix_ns, sizeof(time_unix_ns));
	sample->time_count = 1;
	return p;
}

TEST(taps_have_what_came_in_their_time)
{
	_cleanup_(taps_freep) struct taps *taps = taps_new();
	u64 now = clock_ns(CLOCK_REALTIME), end_ns;
	_cleanup_(profile_freep) struct profile *before = window(1, now - SECOND), *within = window(2, now + SECOND);
	_cleanup_(profile_freep) struct profile *found = NULL;
	_cleanup_(tap_closep) struct tap *tap = NULL;

	EQ(taps_frequency(taps), 0);
	EQ(tap_open(taps, 100 * SECOND, 0, &tap), -ENODEV);
	taps_join(taps, 19);
	EQ(taps_frequency(taps), 19);
	EQ(taps_wanted_ns(taps), UINT64_MAX);
	EQ(tap_open(taps, 100 * SECOND, 0, &tap), 0);
	end_ns = taps_wanted_ns(taps);
	OK(end_ns > monotonic_ns() && end_ns <= monotonic_ns() + 100 * SECOND);
	taps_offer(taps, before, end_ns - 3);
	taps_offer(taps, within, end_ns - 2);
	taps_offer(taps, NULL, end_ns - 1);
	EQ(tap_wait(tap, 0), 0);
	taps_offer(taps, within, end_ns);
	EQ(tap_wait(tap, 0), 1);
	EQ(taps_wanted_ns(taps), UINT64_MAX);
	taps_offer(taps, within, end_ns + 1);
	EQ(tap_take(tap, &found), 0);
	EQ(found->resources.count, 1);
	EQ(found->resources.at[0].attributes[0].value.integer, 2);
	EQ(found->resources.at[0].scopes[0].sets->samples[0].values[0], 2);
	EQ(found->strings.count, 1);
	taps_leave(taps);
}

TEST(taps_are_few_and_end_with_their_source)
{
	_cleanup_(taps_freep) struct taps *taps = taps_new();
	struct tap *tap[TAPS_MAX], *none = NULL;
	u64 first_ns;

	taps_join(taps, 19);
	for (u32 i = 0; i < TAPS_MAX; i++)
		EQ(tap_open(taps, 100 * SECOND, 0, &tap[i]), 0);
	EQ(tap_open(taps, SECOND, 0, &none), -EBUSY);
	first_ns = taps_wanted_ns(taps);
	tap_close(tap[1]);
	EQ(tap_open(taps, 1, 0, &tap[1]), 0);
	OK(taps_wanted_ns(taps) < first_ns);
	tap_close(tap[1]);
	EQ(taps_wanted_ns(taps), first_ns);
	EQ(tap_open(taps, SECOND, 0, &tap[1]), 0);
	taps_leave(taps);
	for (u32 i = 0; i < TAPS_MAX; i++) {
		EQ(tap_wait(tap[i], 10000), -ENODEV);
		tap_close(tap[i]);
	}
	taps_join(NULL, 1);
	taps_offer(NULL, NULL, 0);
	EQ(taps_wanted_ns(NULL), UINT64_MAX);
	taps_leave(NULL);
}
