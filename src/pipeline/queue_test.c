// SPDX-License-Identifier: Apache-2.0
#include "pipeline/queue.h"

#include <errno.h>

#include "base/buf.h"
#include "base/metrics.h"
#include "pipeline/batch.h"
#include "pipeline/storage.h"
#include "test.h"

static struct batch *batch_of(size_t bytes)
{
	struct buf text;

	buf_init(&text, BATCH_BYTES_MAX);
	EQ(buf_reserve(&text, bytes), 0);
	if (bytes)
		memset(text.data, 0, bytes);
	text.len = bytes;
	return batch_from_bytes(&text, 1);
}

static void no_wake(void *arg)
{
}

TEST(queue_is_bounded_in_bytes_but_takes_what_comes_alone)
{
	const struct queue_limits limits = { .sizer = QUEUE_REQUESTS, .size_max = 100, .bytes_max = 100000 };
	struct metrics *metrics = metrics_new();
	struct metric *size = metrics_get(metrics, METRIC_GAUGE, "size", "", NULL, 0);
	const struct queue_metrics counters = { size, size, size };
	struct queue_item *item;
	struct queue *queue;

	EQ(queue_new(&limits, &counters, NULL, &queue), 0);
	EQ(queue_put(queue, batch_of(40000), no_wake, NULL), 0);
	EQ(queue_put(queue, batch_of(40000), no_wake, NULL), 0);
	EQ(queue_put(queue, batch_of(40000), no_wake, NULL), -ENOBUFS);
	for (int i = 0; i < 2; i++) {
		item = queue_take(queue);
		OK(item);
		queue_finish(queue, item, 0, false);
	}
	EQ(queue_put(queue, batch_of(400000), no_wake, NULL), 0);
	EQ(queue_put(queue, batch_of(10), no_wake, NULL), -ENOBUFS);
	queue_free(queue);
	metrics_free(metrics);
}

static struct batch *batch_of_sender(u64 sender)
{
	struct batch *batch = batch_of(10);

	batch_set_sender(batch, sender);
	return batch;
}

TEST(queue_that_a_sender_filled_has_room_for_others_and_for_this_machine)
{
	const struct queue_limits limits = { .sizer = QUEUE_REQUESTS, .size_max = 80, .bytes_max = 1 << 20 };
	struct metrics *metrics = metrics_new();
	struct metric *size = metrics_get(metrics, METRIC_GAUGE, "size", "", NULL, 0);
	const struct queue_metrics counters = { size, size, size };
	struct queue_item *item;
	struct queue *queue;

	EQ(queue_new(&limits, &counters, NULL, &queue), 0);
	for (u32 i = 0; i < 80; i++)
		EQ(queue_put(queue, batch_of_sender(7), no_wake, NULL), 0);
	EQ(queue_put(queue, batch_of_sender(7), no_wake, NULL), -ENOBUFS);
	for (u32 i = 0; i < 10; i++)
		EQ(queue_put(queue, batch_of_sender(8), no_wake, NULL), 0);
	EQ(queue_put(queue, batch_of_sender(8), no_wake, NULL), -ENOBUFS);
	for (u32 i = 0; i < 10; i++)
		EQ(queue_put(queue, batch_of_sender(BATCH_LOCAL), no_wake, NULL), 0);
	EQ(queue_put(queue, batch_of_sender(BATCH_LOCAL), no_wake, NULL), -ENOBUFS);
	EQ(metric_value(size), 100);
	item = queue_take(queue);
	EQ(batch_sender(item->batch), 8);
	queue_finish(queue, item, 0, false);
	queue_free(queue);
	metrics_free(metrics);
}

TEST(queue_has_all_of_its_room_for_one_sender_alone)
{
	const struct queue_limits limits = { .sizer = QUEUE_REQUESTS, .size_max = 2, .bytes_max = 1 << 20 };
	struct metrics *metrics = metrics_new();
	struct metric *size = metrics_get(metrics, METRIC_GAUGE, "size", "", NULL, 0);
	const struct queue_metrics counters = { size, size, size };
	struct queue_item *item;
	struct queue *queue;

	EQ(queue_new(&limits, &counters, NULL, &queue), 0);
	for (u32 i = 0; i < 3; i++) {
		EQ(queue_put(queue, batch_of_sender(7), no_wake, NULL), 0);
		EQ(queue_put(queue, batch_of_sender(7), no_wake, NULL), 0);
		EQ(queue_put(queue, batch_of_sender(7), no_wake, NULL), -ENOBUFS);
		for (u32 k = 0; k < 2; k++) {
			item = queue_take(queue);
			OK(item);
			queue_finish(queue, item, 0, false);
		}
	}
	EQ(metric_value(size), 0);
	queue_free(queue);
	metrics_free(metrics);
}

/* A queue on disk, with what an earlier one left there. */
static struct queue *queue_on_disk(const char *directory, const struct queue_metrics *counters)
{
	const struct queue_limits limits = { .sizer = QUEUE_REQUESTS, .size_max = 100, .bytes_max = 100000 };
	struct storage *storage;
	struct queue *queue;
	struct buf why;

	buf_init(&why, 256);
	EQ(storage_open(directory, "q", &(struct storage_options){ 0 }, &storage, &why), 0);
	EQ(queue_new(&limits, counters, storage, &queue), 0);
	return queue;
}

TEST(queue_keeps_what_one_part_of_was_not_sent)
{
	char directory[] = "/tmp/wick-queue-XXXXXX", command[64];
	struct metrics *metrics = metrics_new();
	struct metric *size = metrics_get(metrics, METRIC_GAUGE, "size", "", NULL, 0);
	const struct queue_metrics counters = { size, size, size };
	struct queue_item *item;
	struct queue *queue;

	OK(mkdtemp(directory));
	queue = queue_on_disk(directory, &counters);
	EQ(queue_put(queue, batch_of(0), no_wake, NULL), 0);
	for (int sent = 0; sent < 2; sent++) {		/* first one part stays, then both are sent */
		item = queue_take(queue);
		OK(item);
		item->parts = 2;
		queue_finish(queue, item, 0, !sent);
		queue_finish(queue, item, 0, false);
		queue_free(queue);
		queue = queue_on_disk(directory, &counters);
	}
	OK(!queue_take(queue));
	queue_free(queue);
	metrics_free(metrics);
	snprintf(command, sizeof(command), "rm -r %s", directory);
	EQ(system(command), 0);
}

TEST(batch_keeps_no_room_to_spare)
{
	struct batch *batch = batch_of(70000);	/* of 131072 */

	OK(batch_weight(batch) < 75000);
	batch_unref(batch);
}
