// SPDX-License-Identifier: Apache-2.0
#include "store/weigh.h"

#include <stdio.h>
#include <string.h>

#include "kinds/unit.h"
#include "store/scan.h"

static s64 number_of(struct str text)
{
	s64 number = 0;

	for (u32 i = 0; i < text.len && i < 18 && text.at[i] >= '0' && text.at[i] <= '9'; i++)
		number = number * 10 + (text.at[i] - '0');
	return number;
}

/* The dictionary may be gone before the next row comes. */
static void copy(struct str text, char *out, size_t room)
{
	snprintf(out, room, "%.*s", (int)text.len, text.len ? text.at : "");
}

static bool is_same(struct str text, const char *kept, size_t room)
{
	size_t len = strlen(kept);

	return (text.len < room ? text.len : room - 1) == len && (!len || !memcmp(text.at, kept, len));
}

static struct str text_of(const char *text)
{
	return (struct str){ text, (u32)strlen(text) };
}

s64 weigh_series(struct weigh *weigh, const struct scan_row *row)
{
	const struct dict_series *series = dict_series(row->dict, row->row->series);
	struct str unit = dict_string(row->dict, series->label[STORE_UNIT]);
	struct str period = dict_string(row->dict, series->label[STORE_PERIOD]);
	s64 period_ns = number_of(period), before = 1;

	weigh->epoch = row->epoch_index;
	weigh->series = row->row->series;
	if (!weigh->has_first) {
		*weigh = (struct weigh){ .has_first = true, .epoch = weigh->epoch, .series = weigh->series,
					 .first_period_ns = period_ns, .factor = 1 };
		copy(unit, weigh->unit, sizeof(weigh->unit));
		copy(period, weigh->period, sizeof(weigh->period));
		return 1;
	}
	weigh->is_mixed |= !is_same(unit, weigh->unit, sizeof(weigh->unit));
	if (!is_same(period, weigh->period, sizeof(weigh->period)))
		weigh->period[0] = '\0';
	if (!weigh->is_weighed && !weigh->is_mixed && unit_scale(unit).unit == UNIT_COUNT && period_ns &&
	    weigh->first_period_ns && period_ns != weigh->first_period_ns) {
		weigh->is_weighed = true;
		before = weigh->first_period_ns;
	}
	/* One that does not say is taken for one of the others. */
	weigh->factor = !weigh->is_weighed ? 1 : period_ns ? period_ns : weigh->first_period_ns;
	return before;
}

struct str weigh_unit(const struct weigh *weigh)
{
	if (weigh->is_mixed || !weigh->has_first)
		return STR("");
	return weigh->is_weighed ? STR("nanoseconds") : text_of(weigh->unit);
}

struct str weigh_period(const struct weigh *weigh)
{
	return weigh->has_first ? text_of(weigh->period) : STR("");
}
