/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `probes` of the receiver `profiling`: each a text as `wick record -e` has it (kinds/probe.h), or a map: the
 * OpenTelemetry profiler's {type: kprobe, mode, symbol, target}, or {event, name, value, ...}.
 */
#ifndef RECEIVERS_PROFILING_PROBES_H
#define RECEIVERS_PROFILING_PROBES_H

#include <stdbool.h>

struct buf;
struct config_node;
struct kind_choices;

/* Adds them; node may be NULL. -EINVAL with a sentence in `why`, -ENOMEM. */
int profiling_probes_add(const struct config_node *node, struct kind_choices *kinds, struct buf *why);

#endif
