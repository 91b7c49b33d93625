/* SPDX-License-Identifier: Apache-2.0 */
/* Perf's side-band records, from bytes to struct sideband_event. */
#ifndef TRACER_SIDEBAND_RECORD_H
#define TRACER_SIDEBAND_RECORD_H

#include <linux/perf_event.h>

#include "tracer/sideband.h"

/* What the kernel appends to each record: pid, tid, time. */
#define SIDEBAND_SAMPLE_TYPE (PERF_SAMPLE_TID | PERF_SAMPLE_TIME)

/*
 * 1 and an event, whose strings are its own (event_done()); 0 for records that do not concern us; -EBADMSG for
 * what is not a record, -ENOMEM. The record is aligned to 8 bytes.
 */
int event_parse(const void *record, size_t bytes, struct sideband_event *ret_event);
void event_done(struct sideband_event *event);

#endif
