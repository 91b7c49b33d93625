/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Repeats something for half a second and tells its speed:
 *
 *	for (struct micro m = micro_start(); micro_more(&m);)
 *		...
 *	micro_report(&m, "otlp encode", samples, "samples", bytes);
 */
#ifndef MICRO_H
#define MICRO_H

#include <stdbool.h>

#include "base/types.h"

struct micro {
	u64 start_ns, end_ns;
	u64 rounds;
};

struct micro micro_start(void);
bool micro_more(struct micro *m);

/* Each round did that many things of a kind, and passed that many bytes (0: does not say). */
void micro_report(const struct micro *m, const char *name, u64 things, const char *kind, u64 bytes);

#endif
