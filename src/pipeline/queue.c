// SPDX-License-Identifier: Apache-2.0
#include "pipeline/queue.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/random.h>
#include <time.h>

#include "base/buf.h"
#include "base/deadline.h"
#include "base/lock.h"
#include "base/metrics.h"
#include "pipeline/batch.h"
#include "pipeline/storage.h"
#include "profile/profile.h"
#include "wire/otlp/otlp.h"
#include "wire/otlp/otlp_check.h"

#define SENDER_OF_BEFORE 1		/* what an earlier process left: nobody knows any more whose it was */
#define SENDERS 256			/* whose parts are known: those that meet share one */
#define AT_HAND_BYTES (16u << 20)	/* of items on disk whose batch is kept, not to be read back at once */

struct queue_waiter {
	bool done;
	int result;
};

struct queue {
	struct queue_limits limits;
	struct storage *storage;
	pthread_mutex_t lock;
	pthread_cond_t room, result;
	struct queue_item *first, **last;
	u64 size, bytes;
	struct part {
		u64 size, bytes;
	} senders[SENDERS], local;	/* of size and bytes, whose they are */
	u64 seed;
	bool closed, asleep;
	struct queue_metrics metrics;
};

static u64 size_of(const struct queue *queue, u64 samples, u64 weight)
{
	switch (queue->limits.sizer) {
	case QUEUE_ITEMS:
		return samples;
	case QUEUE_BYTES:
		return weight;
	default:
		return 1;
	}
}

static void push(struct queue *queue, struct queue_item *item)
{
	*queue->last = item;
	queue->last = &item->next;
}

static void item_free(struct queue_item *item)
{
	if (!item)
		return;
	batch_unref(item->batch);
	free(item);
}
DEFINE_CLEANUP(struct queue_item *, item_free)

static struct part *part_of(struct queue *queue, const struct queue_item *item)
{
	if (item->sender == BATCH_LOCAL)
		return &queue->local;
	return &queue->senders[((item->sender ^ queue->seed) * 0x9e3779b97f4a7c15) >> 56];
}

/*
 * Nobody can fill it for others: when it is full there is an eighth more for senders that have no more than that in it,
 * and a quarter more for what this machine samples.
 */
static bool fits(u64 max, u64 all, u64 own, u64 more, bool is_local)
{
	u64 reserve = is_local ? max / 4 + (max < 4) : max / 8;

	return all + more <= max || (own + more <= reserve && all + more <= max + reserve);
}

/* What alone is heavier than all may be passes alone. */
static bool has_room(struct queue *queue, const struct queue_item *item)
{
	const struct part *part = part_of(queue, item);
	bool is_local = item->sender == BATCH_LOCAL;

	return fits(queue->limits.size_max, queue->size, part->size, item->size, is_local) &&
	       (!queue->bytes || fits(queue->limits.bytes_max, queue->bytes, part->bytes, item->weight, is_local));
}

static void count_item(struct queue *queue, const struct queue_item *item, s64 sign)
{
	struct part *part = part_of(queue, item);

	part->size += (u64)(sign * (s64)item->size);
	part->bytes += (u64)(sign * (s64)item->weight);
	queue->size += (u64)(sign * (s64)item->size);
	queue->bytes += (u64)(sign * (s64)item->weight);
	metric_set(queue->metrics.size, (s64)queue->size);
}

static int restore(struct queue *queue)
{
	const struct storage_record *records;
	u32 count = storage_left_behind(queue->storage, &records);

	for (u32 i = 0; i < count; i++) {
		struct queue_item *item = calloc(1, sizeof(*item));

		if (!item)
			return -ENOMEM;
		*item = (struct queue_item){ .id = records[i].id, .record_bytes = records[i].bytes,
					     .samples = records[i].samples, .sender = SENDER_OF_BEFORE,
					     .size = size_of(queue, records[i].samples, records[i].bytes) };
		count_item(queue, item, 1);
		push(queue, item);
	}
	metric_add(queue->metrics.damaged, storage_damaged_count(queue->storage));
	return 0;
}

int queue_new(const struct queue_limits *limits, const struct queue_metrics *metrics, struct storage *storage,
	      struct queue **ret_queue)
{
	_cleanup_(queue_freep) struct queue *queue = calloc(1, sizeof(*queue));
	int r;

	if (!queue) {
		storage_close(storage);
		return -ENOMEM;
	}
	queue->limits = *limits;
	if (getrandom(&queue->seed, sizeof(queue->seed), GRND_NONBLOCK) != sizeof(queue->seed))
		queue->seed = (u64)(uintptr_t)queue;
	queue->metrics = *metrics;
	queue->storage = storage;
	queue->last = &queue->first;
	pthread_mutex_init(&queue->lock, NULL);
	cond_init(&queue->room);
	cond_init(&queue->result);
	r = storage ? restore(queue) : 0;
	if (r < 0)
		return r;
	*ret_queue = TAKE(queue);
	return 0;
}

void queue_free(struct queue *queue)
{
	struct queue_item *item;

	if (!queue)
		return;
	while ((item = queue->first)) {
		queue->first = item->next;
		item_free(item);
	}
	storage_close(queue->storage);
	pthread_cond_destroy(&queue->room);
	pthread_cond_destroy(&queue->result);
	pthread_mutex_destroy(&queue->lock);
	free(queue);
}

/* ---- Putting ------------------------------------------------------------------------------ */

/* Claims the item's place, waiting for it if that is asked for. */
static int claim(struct queue *queue, struct queue_item *item, bool may_wait)
{
	u64 deadline_ns = deadline_after(QUEUE_WAIT_NS_MAX);
	int r = 0;

	if (item->size > queue->limits.size_max)
		return -E2BIG;
	while (!queue->closed && !has_room(queue, item)) {
		if (!may_wait || r < 0)
			return -ENOBUFS;
		r = cond_wait_until(&queue->room, &queue->lock, deadline_ns);
	}
	if (queue->closed)
		return -ENOBUFS;
	count_item(queue, item, 1);
	return 0;
}

static void unclaim(struct queue *queue, const struct queue_item *item)
{
	count_item(queue, item, -1);
	pthread_cond_broadcast(&queue->room);
}

/* Without the lock: this takes as long as the disk does. */
static int store(struct queue *queue, struct queue_item *item)
{
	const void *at;
	size_t bytes;
	int r = batch_bytes(item->batch, &at, &bytes);

	if (r < 0)
		return r;
	r = storage_put(queue->storage, at, bytes, item->samples, &item->id);
	if (r == 0)
		item->record_bytes = bytes;
	return r;
}

/* What is on disk need not be in memory too, but for a little. */
static void let_go(struct queue *queue, struct queue_item *item)
{
	if (queue->bytes <= AT_HAND_BYTES)
		return;
	part_of(queue, item)->bytes -= item->weight;
	queue->bytes -= item->weight;
	item->weight = 0;
	batch_unref(TAKE(item->batch));
}

static int wait_for_result(struct queue *queue, struct queue_item *item, struct queue_waiter *waiter)
{
	u64 deadline_ns = deadline_after(QUEUE_WAIT_NS_MAX);
	int r = 0;

	while (!waiter->done && r == 0)
		r = cond_wait_until(&queue->result, &queue->lock, deadline_ns);
	if (waiter->done)
		return waiter->result;
	item->waiter = NULL;
	return -EAGAIN;
}

static int enqueue(struct queue *queue, struct queue_item *item, bool may_wait, bool *ret_wake)
{
	int r = claim(queue, item, may_wait);

	if (r < 0)
		return r;
	if (queue->storage) {
		pthread_mutex_unlock(&queue->lock);
		r = store(queue, item);
		pthread_mutex_lock(&queue->lock);
		if (r < 0) {
			unclaim(queue, item);
			metric_add(queue->metrics.storage_failures, r != -EDQUOT);
			return -ENOBUFS;
		}
		let_go(queue, item);
	}
	push(queue, item);
	*ret_wake = queue->asleep;
	queue->asleep = false;
	return 0;
}

/* *ret_item: the item, for who waits for its result; the taking thread has it. */
static int put(struct queue *queue, struct batch *batch, bool may_wait, struct queue_waiter *waiter,
	       queue_wake_fn *wake, void *arg, struct queue_item **ret_item)
{
	_cleanup_(item_freep) struct queue_item *item = calloc(1, sizeof(*item));
	bool wakes = false;
	int r;

	if (!item) {
		batch_unref(batch);
		return -ENOBUFS;
	}
	item->batch = batch;
	item->sender = batch_sender(batch);
	item->samples = batch_samples(batch);
	item->weight = batch_weight(batch);
	item->size = size_of(queue, item->samples, item->weight);
	item->waiter = waiter;
	pthread_mutex_lock(&queue->lock);
	r = enqueue(queue, item, may_wait, &wakes);
	pthread_mutex_unlock(&queue->lock);
	if (r < 0)
		return r;
	*ret_item = TAKE(item);
	if (wakes)
		wake(arg);
	return 0;
}

int queue_put(struct queue *queue, struct batch *batch, queue_wake_fn *wake, void *arg)
{
	const struct queue_limits *limits = &queue->limits;
	struct queue_waiter waiter = { 0 };
	struct queue_item *item;
	int r;

	r = put(queue, batch, limits->block_on_overflow, limits->wait_for_result ? &waiter : NULL, wake, arg, &item);
	if (r < 0 || !limits->wait_for_result)
		return r;
	LOCKED(&queue->lock);
	r = wait_for_result(queue, item, &waiter);
	return r;
}

int queue_offer(struct queue *queue, struct batch *batch, queue_wake_fn *wake, void *arg)
{
	struct queue_item *item;

	return put(queue, batch, false, NULL, wake, arg, &item);
}

/* ---- Taking ------------------------------------------------------------------------------- */

/* From disk. The bytes were checked before they were written, but others may have been there since. */
static int load(struct queue *queue, struct queue_item *item)
{
	_cleanup_(profile_freep) struct profile *profile = NULL;
	_cleanup_(buf_done) struct buf bytes, why;
	u64 samples;
	int r;

	buf_init(&bytes, BATCH_BYTES_MAX);
	buf_init(&why, 256);
	r = storage_get(queue->storage, item->id, &bytes, &samples);
	if (r == 0)
		r = otlp_check(bytes.data, bytes.len, SIZE_MAX, &samples, &why);
	if (r < 0)
		return r;
	if (r == 0) {
		item->batch = batch_from_bytes(&bytes, samples);
		if (item->batch)
			batch_set_sender(item->batch, item->sender);
		return item->batch ? 0 : -ENOMEM;
	}
	r = otlp_decode(bytes.data, bytes.len, NULL, &profile);
	if (r < 0)
		return r;
	item->batch = batch_from_profile(profile);
	if (!item->batch)
		return -ENOMEM;
	batch_set_sender(item->batch, item->sender);
	profile = NULL;
	return 0;
}

/* Is it of somebody who has little in a queue that others have filled? */
static bool goes_first(struct queue *queue, const struct queue_item *item)
{
	u64 max = queue->limits.size_max;

	return item->sender == BATCH_LOCAL || part_of(queue, item)->size <= max / 8;
}

/* The oldest; in a queue that is more than half full, of those who have little in it. */
static struct queue_item **next_link(struct queue *queue)
{
	if (queue->size > queue->limits.size_max / 2)
		for (struct queue_item **link = &queue->first; *link; link = &(*link)->next)
			if (goes_first(queue, *link))
				return link;
	return &queue->first;
}

static struct queue_item *pop(struct queue *queue)
{
	struct queue_item **link = next_link(queue), *item = *link;

	if (!item || (queue->closed && queue->storage))
		return NULL;
	*link = item->next;
	if (!item->next)
		queue->last = link;
	item->next = NULL;
	item->parts = 1;
	return item;
}

struct queue_item *queue_take(struct queue *queue)
{
	struct queue_item *item;

	for (;;) {
		int r;

		pthread_mutex_lock(&queue->lock);
		item = pop(queue);
		pthread_mutex_unlock(&queue->lock);
		if (!item || item->batch)
			return item;
		r = load(queue, item);
		if (r == 0)
			return item;
		/* Out of memory is no reason to forget it: it stays on disk for the next start. */
		if (r != -ENOMEM)
			metric_add(queue->metrics.damaged, 1);
		queue_finish(queue, item, -EBADMSG, r == -ENOMEM);
	}
}

void queue_finish(struct queue *queue, struct queue_item *item, int result, bool keep)
{
	if (!item->result)
		item->result = result;
	item->is_kept |= keep;
	if (--item->parts)
		return;
	if (item->id && !item->is_kept)
		storage_remove(queue->storage, item->id, item->record_bytes);
	pthread_mutex_lock(&queue->lock);
	unclaim(queue, item);
	if (item->waiter) {
		*item->waiter = (struct queue_waiter){ true, item->result };
		pthread_cond_broadcast(&queue->result);
	}
	pthread_mutex_unlock(&queue->lock);
	item_free(item);
}

bool queue_sleep(struct queue *queue)
{
	LOCKED(&queue->lock);
	return queue->asleep = !queue->first;
}

void queue_close(struct queue *queue)
{
	LOCKED(&queue->lock);
	queue->closed = true;
	pthread_cond_broadcast(&queue->room);
}
