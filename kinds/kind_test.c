// SPDX-License-Identifier: Apache-2.0
#include "kinds/kind.h"

#include <stdint.h>
#include <string.h>

#include "test.h"

TEST(kinds_are_complete_and_no_two_are_called_the_same)
{
	for (u32 i = 0; i < KIND_MAX; i++) {
		const struct kind *k = kind_list[i];

		if (!k)
			continue;
		OK(k->name && k->title && k->sample.type && k->sample.unit);
		OK(!k->period.type == !k->period.unit);
		OK(kind_named((struct str){ k->name, (u32)strlen(k->name) }) == k);
		OK(kind_of((struct str){ k->sample.type, (u32)strlen(k->sample.type) }, STR("")) == k);
	}
	OK(!kind_named(STR("")));
	OK(!kind_named(STR("cp")));
	OK(!kind_named(STR("cpus")));
}

TEST(kinds_are_found_by_what_a_profile_says)
{
	static const struct {
		struct str type, period_type;
		const char *title, *pyroscope;
	} cases[] = {
		{ STR("samples"), STR("cpu"), "CPU time", "process_cpu" },
		{ STR("samples"), STR(""), "CPU time", "process_cpu" },
		{ STR("cpu"), STR("cpu"), "CPU time", "process_cpu" },
		{ STR("samples"), STR("wall"), NULL, NULL },
		{ STR("alloc_space"), STR("space"), "memory allocated", "memory" },
		{ STR("alloc-space"), STR(""), "memory allocated", "memory" },
		{ STR("alloc_in_new_tlab_bytes"), STR(""), NULL, "memory" },
		{ STR("sample"), STR(""), NULL, NULL },
		{ STR("samplesx"), STR(""), NULL, NULL },
		{ STR(""), STR(""), NULL, NULL },
	};

	for (u32 i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct kind *k = kind_of(cases[i].type, cases[i].period_type);

		OK(!k == (!cases[i].title && !cases[i].pyroscope));
		if (k && cases[i].title)
			STREQ(k->title, cases[i].title);
		if (k)
			STREQ(k->pyroscope, cases[i].pyroscope);
	}
}

TEST(units_of_any_sender_are_times_sizes_or_counts)
{
	EQ(unit_scale(STR("ns")).unit, UNIT_NANOSECONDS);
	EQ(unit_scale(STR("milliseconds")).factor, 1000000);
	EQ(unit_scale(STR("By")).unit, UNIT_BYTES);
	EQ(unit_scale(STR("parsecs")).unit, UNIT_COUNT);
	EQ(unit_scale(STR("")).factor, 1);
	STREQ(unit_text(UNIT_BYTES), "bytes");
}

TEST(counts_of_ticks_add_up_to_time)
{
	EQ(unit_scale_values(STR("count"), STR("ms"), 10).unit, UNIT_NANOSECONDS);
	EQ(unit_scale_values(STR("count"), STR("ms"), 10).factor, 10000000);
	EQ(unit_scale_values(STR("count"), STR("ms"), 0).unit, UNIT_COUNT);
	EQ(unit_scale_values(STR("count"), STR("bytes"), 524288).unit, UNIT_COUNT);
	EQ(unit_scale_values(STR("bytes"), STR("ns"), 10).unit, UNIT_BYTES);
	EQ(unit_scale_values(STR("count"), STR("s"), INT64_MAX).factor, INT64_MAX);
}
