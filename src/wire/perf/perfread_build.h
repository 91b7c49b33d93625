/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a profile of what was gathered from a perf.data file. */
#ifndef WIRE_PERFREAD_BUILD_H
#define WIRE_PERFREAD_BUILD_H

#include "base/types.h"

struct perfread_events;
struct perfread_gather;
struct profile;

/* The file's clock and that of the profile differ by offset_ns. -ENOMEM, -E2BIG. */
int perfread_build(const struct perfread_gather *gather, const struct perfread_events *events, s64 offset_ns,
		   struct profile **ret_profile);

#endif
