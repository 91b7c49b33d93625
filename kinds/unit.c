// SPDX-License-Identifier: Apache-2.0
#include "kinds/unit.h"

#include "base/saturate.h"

static const struct {
	struct str text;
	struct unit_scale scale;
} units[] = {
	{ STR("nanoseconds"), { UNIT_NANOSECONDS, 1 } },
	{ STR("ns"), { UNIT_NANOSECONDS, 1 } },
	{ STR("microseconds"), { UNIT_NANOSECONDS, 1000 } },
	{ STR("us"), { UNIT_NANOSECONDS, 1000 } },
	{ STR("milliseconds"), { UNIT_NANOSECONDS, 1000000 } },
	{ STR("ms"), { UNIT_NANOSECONDS, 1000000 } },
	{ STR("seconds"), { UNIT_NANOSECONDS, 1000000000 } },
	{ STR("s"), { UNIT_NANOSECONDS, 1000000000 } },
	{ STR("bytes"), { UNIT_BYTES, 1 } },
	{ STR("By"), { UNIT_BYTES, 1 } },
	{ STR("kilobytes"), { UNIT_BYTES, 1024 } },
	{ STR("KiBy"), { UNIT_BYTES, 1024 } },
	{ STR("megabytes"), { UNIT_BYTES, 1 << 20 } },
	{ STR("MiBy"), { UNIT_BYTES, 1 << 20 } },
};

const char *unit_text(enum unit unit)
{
	static const char *const texts[] = {
#define X(ID, text) [UNIT_##ID] = text,
		UNITS(X)
#undef X
	};

	return texts[unit];
}

struct unit_scale unit_scale(struct str unit)
{
	for (u32 i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (str_equal(unit, units[i].text))
			return units[i].scale;
	return (struct unit_scale){ UNIT_COUNT, 1 };
}

struct unit_scale unit_scale_values(struct str unit, struct str period_unit, s64 period)
{
	struct unit_scale value = unit_scale(unit), of_period = unit_scale(period_unit);

	if (value.unit == UNIT_COUNT && of_period.unit == UNIT_NANOSECONDS && period > 0)
		return (struct unit_scale){ UNIT_NANOSECONDS, saturating_multiply(of_period.factor, period) };
	return value;
}
