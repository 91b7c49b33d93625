/* SPDX-License-Identifier: Apache-2.0 */
/* Times and durations as Go prints them: what reads the Collector's answers expects these. */
#ifndef EXTENSIONS_GOTIME_H
#define EXTENSIONS_GOTIME_H

#include "base/types.h"

#define GOTIME_MAX 48

/* RFC 3339, UTC, the fraction without zeros at its end: "2022-09-14T05:02:14.173Z". Returns text. */
const char *gotime_stamp(char text[GOTIME_MAX], u64 unix_ns);

/* "1h2m3.5s", "250ms", "1.5µs", "0s". Returns text. */
const char *gotime_duration(char text[GOTIME_MAX], u64 ns);

#endif
