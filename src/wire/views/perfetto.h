/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A Perfetto trace: samples of callstacks (PerfSample) on a line of time,
 * with the processes and threads they are of. A sample weighs 1 there, so
 * one that weighs more is written that often; see PERFETTO_SAMPLES_MAX. Of
 * several sample types the default one, and lanes of threads (kinds/lanes) as
 * slices. Only written.
 */
#ifndef WIRE_PERFETTO_H
#define WIRE_PERFETTO_H

#include "base/buf.h"

/* Packets of samples in a file; if all weigh more together, a packet stands for several. */
#define PERFETTO_SAMPLES_MAX 1000000u

struct profile;

int perfetto_encode(const struct profile *profile, struct buf *out);

#endif
