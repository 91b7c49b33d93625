/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of what was seen, a row each:
 *
 *	traces		{"left_out", "rows": [{"trace", "span", "spans", "samples", "value", ...}, ...]}
 *	arrivals	{"last": number, "rows": [{"number", "time", "kind", "level", "component", ...}, ...]}
 */
#ifndef WEB_LISTS_JSON_H
#define WEB_LISTS_JSON_H

#include "base/types.h"
#include "store/store.h"

struct arrival;
struct buf;

int traces_json(const struct store_traces *traces, struct buf *out);

/* last: the number of the newest one where these are none. */
int arrivals_json(const struct arrival *arrivals, u32 count, u64 last, struct buf *out);

#endif
