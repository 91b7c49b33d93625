// SPDX-License-Identifier: Apache-2.0
#include "wire/perf/perfread_order.h"

#include "test.h"

TEST(perfread_order_sorts_and_keeps_the_order_of_equals)
{
	struct perfread_order o = { 0 };
	u64 random = 1, last = 0, place;

	for (u64 i = 0; i < 1000; i++) {
		random = random * 6364136223846793005ull + 1;
		EQ(perfread_order_add(&o, random >> 58, (random >> 58) << 32 | i), 0);
	}
	for (u32 i = 0; i < 1000; i++) {
		OK(perfread_order_take(&o, true, &place));
		OK(!i || place > last);
		last = place;
	}
	OK(!perfread_order_take(&o, true, &place));
	perfread_order_done(&o);
}

TEST(perfread_order_holds_back_what_a_later_round_may_precede)
{
	struct perfread_order o = { 0 };
	u64 place;

	EQ(perfread_order_add(&o, 100, 1), 0);
	OK(!perfread_order_take(&o, false, &place));
	perfread_order_round(&o);
	EQ(perfread_order_add(&o, 200, 2), 0);
	EQ(perfread_order_add(&o, 50, 3), 0);
	OK(perfread_order_take(&o, false, &place));
	EQ(place, 3);
	OK(perfread_order_take(&o, false, &place));
	EQ(place, 1);
	OK(!perfread_order_take(&o, false, &place));
	OK(perfread_order_take(&o, true, &place));
	EQ(place, 2);
	perfread_order_done(&o);
}
