/* SPDX-License-Identifier: Apache-2.0 */
/* Spans of time as Go writes them: "1h2m3.5s", "-1.5h", "300ms", "10us", "5ns", "0". No state. */
#ifndef CONFIG_DURATION_H
#define CONFIG_DURATION_H

#include "base/types.h"

#define DURATION_TEXT_MAX 32

/* Nanoseconds; a number without a unit is refused, but for "0". -EINVAL, -ERANGE past 292 years. */
int config_parse_duration(const char *text, s64 *ret_ns);

/* "1m30s", "200ms", "0s": what the parser reads back as the same. Returns text. */
const char *config_print_duration(s64 ns, char text[DURATION_TEXT_MAX]);

#endif
