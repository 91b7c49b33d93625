/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What flows through pipelines: checked OTLP bytes, a struct profile, or both,
 * the other form made at first need and kept.
 *
 *  - Counted: batch_ref() and batch_unref() from any thread. Immutable while
 *    shared; whoever holds the only reference may edit, others get a copy
 *    first (batch_edit()).
 *  - Bytes are of the current numbering with every index in range, so that they may be sent on as
 *    they are.
 */
#ifndef PIPELINE_BATCH_H
#define PIPELINE_BATCH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/types.h"

struct batch;
struct buf;
struct profile;

/* Of one OTLP request, also after decompression. */
#define BATCH_BYTES_MAX (64u << 20)

/* Takes over what is in bytes, checked (otlp_check()) to hold that many samples. NULL without memory. */
struct batch *batch_from_bytes(struct buf *bytes, u64 samples);

/* Takes over the profile; NULL without memory: it is not taken. */
struct batch *batch_from_profile(struct profile *profile);

struct batch *batch_ref(struct batch *batch);
void batch_unref(struct batch *batch);
DEFINE_CLEANUP(struct batch *, batch_unref)

u64 batch_samples(const struct batch *batch);

/*
 * Who sent it: whom the thread worked for that made it (base/budget.h); BATCH_LOCAL: it is this machine's own. What is
 * made of others is the sender's of the first that has one.
 */
#define BATCH_LOCAL 0
u64 batch_sender(const struct batch *batch);
void batch_set_sender(struct batch *batch, u64 sender);

/* How many resources it holds, counted in the form that is there. Any thread. */
u32 batch_resources(struct batch *batch);

/*
 * What it holds in memory, about; what queues bounded in bytes count. It grows
 * when the other form is made: who adds it up remembers what it added. Any thread.
 */
size_t batch_weight(struct batch *batch);

/* Whether it is bytes that nobody has decoded yet: who can work on those saves time. Any thread. */
bool batch_is_encoded(struct batch *batch);

/* Borrowed until the reference is given up. -ENOMEM, -E2BIG, -EBADMSG. Any thread. */
int batch_profile(struct batch *batch, const struct profile **ret_profile);
int batch_bytes(struct batch *batch, const void **ret_at, size_t *ret_bytes);

/*
 * The profile, to be changed: that of *batch itself if nobody else holds it,
 * else of a copy, which takes the place of *batch (its reference is given up).
 * Call batch_edited() after the last change: it counts samples again.
 */
int batch_edit(struct batch **batch, struct profile **ret_profile);
void batch_edited(struct batch *batch);

#endif
