/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pyroscope's own way in: push.v1.PusherService/Push by Connect, every series with its labels and a pprof.
 *
 *	PushRequest		1 series
 *	RawProfileSeries	1 labels {1 name, 2 value}, 2 samples {1 pprof, gzipped; 2 ID, a UUID}
 */
#ifndef EXPORTERS_PYROSCOPE_PUSH_H
#define EXPORTERS_PYROSCOPE_PUSH_H

#include "base/buf.h"

struct batch;
struct profile;

#define PYROSCOPE_PUSH_PATH "/push.v1.PusherService/Push"
#define PYROSCOPE_PUSH_TYPE "application/proto"

/* The profile is one of pyroscope_shape()'s. */
int pyroscope_push_encode(const struct profile *profile, struct buf *out);

int pyroscope_push_encode_batch(struct batch *batch, struct buf *out);

#endif
