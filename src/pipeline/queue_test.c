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
