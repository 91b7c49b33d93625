/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What goes into one request: an item of the queue, or with `batch` as many
 * as make one that is large enough, or a part of one that is too large.
 *
 * Belongs to the sender's thread.
 */
#ifndef PIPELINE_GATHER_H
#define PIPELINE_GATHER_H

#include <stdbool.h>

#include "base/cleanup.h"
#include "base/types.h"

struct batch;
struct gather;
struct queue;
struct queue_item;
struct queue_options;

struct gathered {
	struct batch *batch;		/* a reference */
	struct queue_item *first;	/* those it came from, by next; each has a part to be finished for it */
};

/* Options and queue are borrowed. */
int gather_new(const struct queue_options *options, struct queue *queue, struct gather **ret_gather);
void gather_free(struct gather *gather);
DEFINE_CLEANUP(struct gather *, gather_free)

/*
 * The next request, if there is enough for one, or it has waited long enough. drain: what there is is enough.
 */
bool gather_next(struct gather *gather, u64 now_ns, bool drain, struct gathered *ret_gathered);

/* When what is there will have waited long enough; UINT64_MAX if there is nothing. */
u64 gather_due(const struct gather *gather);

#endif
