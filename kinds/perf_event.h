/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events of perf by the names that `perf list` has: of software, of the processor, and of units in
 * /sys/bus/event_source/devices, written UNIT/NAME/; rNNN is one of the processor by its number.
 */
#ifndef KINDS_PERF_EVENT_H
#define KINDS_PERF_EVENT_H

#include "kinds/kind.h"

struct buf;
struct probe;

#define PERF_EVENT_DEVICES "/sys/bus/event_source/devices"

/* Calls use(arg, name) for each name that is known, and for those of the units in that folder; how many. */
u32 perf_event_list(const char *devices, void (*use)(void *arg, const char *name), void *arg);

/* Type and number of an event. -ENOENT: none is called so; -EINVAL with a sentence in `why`. */
int perf_event_find(struct str name, const char *devices, struct kind_event *ret_event, struct buf *why);

/* A kind of it, the caller's to free (kinds/probe.h). As above. */
int perf_event_probe(struct str name, const char *devices, struct probe **ret_probe, struct buf *why);

#endif
