/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of an answer, in the format RowBinaryWithNamesAndTypes. A reader knows what it asked for: it names the
 * types, and reads values one after the other, in the order of the statement.
 *
 *	SELECT ServiceName, sum(Value), Functions ...	types "String, Int64, Array(String)"
 *
 *	while (tuples_next(&tuples)) {
 *		struct str service = tuples_text(&tuples);
 *		s64 value = tuples_int(&tuples, 8);
 *
 *		for (u64 n = tuples_count(&tuples); n > 0; n--)
 *			... tuples_text(&tuples);
 *	}
 *	return tuples_err(&tuples);
 *
 * Never reads past the end: what is not there is 0 or empty, and tuples_err() is -EBADMSG then.
 */
#ifndef CLICKHOUSE_TUPLES_H
#define CLICKHOUSE_TUPLES_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "base/types.h"
#include "profile/profile.h"	/* struct str */

struct tuples {
	struct buf body;
	struct cursor at;
};

void tuples_init(struct tuples *tuples, size_t bytes_max);
void tuples_done(struct tuples *tuples);

/*
 * Body is there: reads what stands before the rows. -EBADMSG: it is no such answer, or of other types than those,
 * LowCardinality() aside.
 */
int tuples_begin(struct tuples *tuples, const char *types);

bool tuples_next(struct tuples *tuples);	/* is there another row? */
int tuples_err(const struct tuples *tuples);

u64 tuples_uint(struct tuples *tuples, u32 bytes);	/* of UInt8 to UInt64, Date (2), DateTime (4) */
s64 tuples_int(struct tuples *tuples, u32 bytes);	/* of Int8 to Int64, DateTime64 (8, in its ticks) */
double tuples_real(struct tuples *tuples);		/* of Float64 */
struct str tuples_text(struct tuples *tuples);	/* String; borrowed */

/* How many elements of an Array, pairs of a Map follow; never more than there are bytes. */
u64 tuples_count(struct tuples *tuples);

#endif
