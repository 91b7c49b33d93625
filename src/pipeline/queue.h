/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What waits to be sent and what is being sent, in the order it came, but when it is more than half full those who have
 * little in it go first: in memory, or on disk with a few at hand.
 *
 *  - Bounded by size, in the unit of the sizer, and by bytes in memory. Items count until queue_finish(), as in
 *    the Collector. When it is full there is a little more room for senders who have little in it, and for what this
 *    machine samples: nobody can fill it for others.
 *  - With storage, an item is on disk before queue_put() returns. If the disk refuses, so do we.
 *
 * Any thread puts; one thread, the sender's, takes and finishes.
 */
#ifndef PIPELINE_QUEUE_H
#define PIPELINE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/types.h"
#include "pipeline/sender.h"

struct batch;
struct metric;
struct queue;
struct queue_waiter;
struct storage;

/* The longest that somebody waits for room, or for the result. */
#define QUEUE_WAIT_NS_MAX 30000000000ull

struct queue_item {
	struct queue_item *next;
	struct batch *batch;		/* NULL: on disk only */
	u64 id;				/* of the record; 0: there is no storage */
	u64 record_bytes;
	u64 sender;			/* batch_sender() */
	u64 samples, size;
	size_t weight;			/* of the batch while it was in memory */
	u32 parts;			/* requests that are yet to end */
	bool is_kept;			/* one of them was not sent, and is left to the next process */
	int result;			/* 0, or what became of the first that was not sent: -EAGAIN, -EBADMSG */
	struct queue_waiter *waiter;
};

struct queue_limits {
	enum queue_sizer sizer;
	u64 size_max;
	u64 bytes_max;			/* in memory */
	bool block_on_overflow, wait_for_result;
};

struct queue_metrics {
	struct metric *size;			/* now, in the unit of the sizer */
	struct metric *storage_failures;	/* records that the disk did not take */
	struct metric *damaged;			/* records that could not be read back */
};

/* Takes over the storage, which may be NULL, and what an earlier process left there. */
int queue_new(const struct queue_limits *limits, const struct queue_metrics *metrics, struct storage *storage,
	      struct queue **ret_queue);

/* Items of storage stay there. */
void queue_free(struct queue *queue);
DEFINE_CLEANUP(struct queue *, queue_free)

/*
 * Takes over the reference. wake() is called if the taking thread sleeps, or is about to. -ENOBUFS: no room, in memory
 * or on disk, or closed; -E2BIG: it never fits. With wait_for_result, -EBADMSG or -EAGAIN: it was not sent, or is not
 * yet.
 */
typedef void queue_wake_fn(void *arg);
int queue_put(struct queue *queue, struct batch *batch, queue_wake_fn *wake, void *arg);

/* The same, but nobody waits for room or for the result, whatever the limits say. */
int queue_offer(struct queue *queue, struct batch *batch, queue_wake_fn *wake, void *arg);

/* The oldest, or NULL. Once it is closed, what is on disk stays there. */
struct queue_item *queue_take(struct queue *queue);

/* Ends one part of it; after the last the item is gone, and its record unless one of them ended with `keep`. */
void queue_finish(struct queue *queue, struct queue_item *item, int result, bool keep);

/* The taking thread is about to sleep: false if there is something to take, else the next put wakes it. */
bool queue_sleep(struct queue *queue);

/* Nobody gets in any more; who waits is let go. */
void queue_close(struct queue *queue);

#endif
