// SPDX-License-Identifier: Apache-2.0
#include "kinds/choice.h"

#include <errno.h>

#include "base/buf.h"
#include "test.h"

TEST(kinds_are_chosen_by_their_names_or_those_of_their_events)
{
	static const struct {
		const char *list;
		int result;
		u32 count;
		const char *event;	/* of the first */
	} cases[] = {
		{ "", 0, 0, NULL },
		{ "cpu", 0, 1, NULL },
		{ "auto", 0, 1, NULL },
		{ " cpu,", 0, 1, NULL },
		{ "cycles", 0, 1, "cycles" },
		{ "cpu-clock", 0, 1, "cpu-clock" },
		{ "cpu:5", -EINVAL, 0, NULL },
		{ "cpu,cycles", -EINVAL, 1, NULL },
		{ "cp", -EINVAL, 0, NULL },
		{ "cpux", -EINVAL, 0, NULL },
		{ ":", -EINVAL, 0, NULL },
	};

	for (u32 i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct kind_choices choices = { 0 };
		struct buf why;

		buf_init(&why, 4096);
		EQ(kind_choices_add(&choices, cases[i].list, &why), cases[i].result);
		EQ(choices.count, cases[i].count);
		EQ(why.len != 0, cases[i].result < 0);
		if (choices.count) {
			OK(choices.at[0].kind == kind_list[KIND_CPU]);
			EQ(choices.at[0].event != NULL, cases[i].event != NULL);
		}
		if (cases[i].event)
			STREQ(choices.at[0].event->name, cases[i].event);
		buf_done(&why);
	}
}

/* Those of any kind there is that is not sampled by a clock. */
TEST(kinds_that_count_are_chosen_with_the_number_of_their_events)
{
	for (u32 i = 0; i < KIND_MAX; i++) {
		static const char *const wrong[] = { "", "0", "-1", "x", "3x", "99999999999" };
		struct kind_choices choices = { 0 };
		struct buf why;
		char text[128];

		if (!kind_list[i] || !kind_list[i]->events_per_sample)
			continue;
		buf_init(&why, 4096);
		for (u32 k = 0; k < sizeof(wrong) / sizeof(*wrong); k++) {
			snprintf(text, sizeof(text), "%s:%s", kind_list[i]->name, wrong[k]);
			EQ(kind_choices_add(&choices, text, &why), -EINVAL);
		}
		snprintf(text, sizeof(text), "cpu,%s:16", kind_list[i]->name);
		EQ(kind_choices_add(&choices, text, &why), 0);
		EQ(choices.count, 2);
		EQ(choices.at[1].events_per_sample, 16);
		OK(choices.at[1].kind == kind_list[i]);
		EQ(kind_number(choices.at[1].kind), i);
		buf_done(&why);
	}
}
