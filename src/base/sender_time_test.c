// SPDX-License-Identifier: Apache-2.0
#include "base/sender_time.h"

#include "base/clock.h"
#include "test.h"

#define MS 1000000ull
#define SPAN (60 * SECOND_NS)
#define NOW (10 * SPAN)
#define MAY_NS (300 * MS)	/* in a span */

static const struct sender_time_limit limit = { 0.005, SPAN };
static int owner;

static void begin(void)
{
	sender_time_reset();
	sender_time_set(&owner, &limit, NOW - SPAN);
}

/* One that sends requests of a millisecond as often as it is let, for so long; what it cost. */
static u64 flood(u64 sender, u64 from_ns, u64 for_ns)
{
	u64 cost_ns = 0;

	for (u64 at = from_ns; at < from_ns + for_ns; at += MS) {
		if (!sender_time_allows(sender, at))
			continue;
		sender_time_note(sender, MS, at);
		cost_ns += MS;
	}
	return cost_ns;
}

TEST(sender_time_serves_everybody_without_a_limit)
{
	sender_time_reset();
	sender_time_note(1, 1000 * SECOND_NS, NOW);
	EQ(sender_time_allows(1, NOW), true);
	EQ(sender_time_of_thread(), 0);
	EQ(sender_time_tell(NOW).used_ns, 0);
}

TEST(sender_time_does_not_count_the_first_span)
{
	sender_time_reset();
	sender_time_set(&owner, &limit, NOW);
	sender_time_note(1, 1000 * SECOND_NS, NOW + SPAN - 1);
	EQ(sender_time_allows(1, NOW + SPAN - 1), true);
	EQ(sender_time_allows(1, NOW + SPAN), true);
	sender_time_note(1, 1000 * SECOND_NS, NOW + SPAN);
	EQ(sender_time_allows(1, NOW + SPAN), false);
	sender_time_reset();
}

TEST(sender_time_holds_the_limit_over_any_span)
{
	u64 in_span[10];

	begin();
	for (u32 i = 0; i < 10; i++) {
		in_span[i] = flood(1, NOW + i * SPAN / 2, SPAN / 2);
		if (i)
			OK(in_span[i - 1] + in_span[i] <= MAY_NS);
	}
	OK(in_span[8] + in_span[9] > MAY_NS / 2);	/* it is used, too */
	OK(sender_time_tell(NOW + 5 * SPAN).turned_away > 1000);
	sender_time_reset();
}

TEST(sender_time_serves_the_quiet_beside_the_loud)
{
	begin();
	for (u32 second = 0; second < 120; second++) {
		u64 at = NOW + second * SECOND_NS;

		for (u64 loud = 10; loud < 20; loud++)
			(void)flood(loud, at, SECOND_NS / 2);
		EQ(sender_time_allows(1, at + SECOND_NS / 2), true);
		sender_time_note(1, MS / 10, at + SECOND_NS / 2);
	}
	sender_time_reset();
}

TEST(sender_time_gives_many_loud_ones_no_more_than_one)
{
	u64 cost_ns = 0;

	begin();
	for (u32 second = 0; second < 60; second++)
		for (u64 loud = 10; loud < 60; loud++)
			cost_ns += flood(loud, NOW + second * SECOND_NS, 20 * MS);
	OK(cost_ns <= MAY_NS + 50 * MS);	/* one request of each who was not known */
	sender_time_reset();
}

TEST(sender_time_forgives_within_a_span_and_two_thirds)
{
	begin();
	sender_time_note(1, 1000 * SECOND_NS, NOW);
	EQ(sender_time_allows(1, NOW + SPAN), false);
	EQ(sender_time_tell(NOW + SPAN).turns_away, true);
	EQ(sender_time_allows(1, NOW + SPAN + SPAN * 2 / 3), true);
	EQ(sender_time_tell(NOW + SPAN + SPAN * 2 / 3).turns_away, false);
	sender_time_reset();
}

TEST(sender_time_never_turns_this_machine_away)
{
	begin();
	sender_time_note(SENDER_TIME_LOCAL, 1000 * SECOND_NS, NOW);
	EQ(sender_time_allows(1, NOW), true);
	sender_time_note(1, 1000 * SECOND_NS, NOW);
	EQ(sender_time_allows(SENDER_TIME_LOCAL, NOW), true);
	EQ(sender_time_allows(1, NOW), false);
	sender_time_reset();
}

TEST(sender_time_limit_is_taken_back_by_its_owner_alone)
{
	const struct sender_time_limit none = { 0 };
	int other;

	begin();
	sender_time_note(1, 1000 * SECOND_NS, NOW);
	sender_time_set(&other, &none, NOW);
	EQ(sender_time_allows(1, NOW), false);
	sender_time_set(&other, &limit, NOW);	/* a reload: the new one comes before the old one goes */
	sender_time_set(&owner, &none, NOW);
	EQ(sender_time_allows(1, NOW), false);
	sender_time_set(&other, &none, NOW);
	EQ(sender_time_allows(1, NOW), true);
	sender_time_reset();
}
