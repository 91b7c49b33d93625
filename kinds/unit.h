/* SPDX-License-Identifier: Apache-2.0 */
/* Units of values: whatever a sender writes is a time, a size, or a count of something. */
#ifndef KINDS_UNIT_H
#define KINDS_UNIT_H

#include "base/str.h"
#include "base/types.h"

/* What values add up to, and how it is written. */
#define UNITS(X)                        \
	X(COUNT, "count")               \
	X(NANOSECONDS, "nanoseconds")   \
	X(BYTES, "bytes")

enum unit {
#define X(ID, text) UNIT_##ID,
	UNITS(X)
#undef X
};

struct unit_scale {
	enum unit unit;
	s64 factor;		/* at least 1 */
};

const char *unit_text(enum unit unit);

/* Of pprof's words and OTLP's UCUM: { UNIT_NANOSECONDS, 1000 } for "us"; what is not known counts. */
struct unit_scale unit_scale(struct str unit);

/* How values of a sample type add up: counts of ticks of a clock are the time between them, count times period. */
struct unit_scale unit_scale_values(struct str unit, struct str period_unit, s64 period);

#endif
