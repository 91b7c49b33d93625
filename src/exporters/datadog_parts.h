/* SPDX-License-Identifier: Apache-2.0 */
/* A profile of an interval becomes one batch for each owner (datadog_owner.h); every frame has a name then. */
#ifndef EXPORTERS_DATADOG_PARTS_H
#define EXPORTERS_DATADOG_PARTS_H

#include "base/types.h"

struct batch;
struct datadog_names;
struct profile;

/* emit() takes over the reference. Returns how many samples were emitted: fewer than there are if memory ran out. */
u64 datadog_parts_make(const struct profile *profile, const struct datadog_names *names,
		       void (*emit)(void *arg, struct batch *batch), void *arg);

#endif
