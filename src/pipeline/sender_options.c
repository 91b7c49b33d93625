// SPDX-License-Identifier: Apache-2.0
#include "pipeline/sender.h"

static const char *const queue_sizers[] = { "requests", "items", "bytes", NULL };
static const char *const batch_sizers[] = { "", "items", "bytes", NULL };

const struct config_field retry_fields[] = {
	{ "enabled", CONFIG_BOOL, FIELD(struct retry_options, enabled), .help = "try again at all" },
	{ "initial_interval", CONFIG_DURATION, FIELD(struct retry_options, initial_interval_ns), .max = 1e18,
	  .help = "how long to wait after the first failure" },
	{ "randomization_factor", CONFIG_REAL, FIELD(struct retry_options, randomization_factor), .max = 1,
	  .help = "how far each wait is spread around its length, as a part of it" },
	{ "multiplier", CONFIG_REAL, FIELD(struct retry_options, multiplier), .max = 1e6,
	  .help = "by how much each wait is longer than the one before" },
	{ "max_interval", CONFIG_DURATION, FIELD(struct retry_options, max_interval_ns), .max = 1e18,
	  .help = "the longest wait, unless the other side asks for more" },
	{ "max_elapsed_time", CONFIG_DURATION, FIELD(struct retry_options, max_elapsed_time_ns), .max = 1e18,
	  .help = "a batch is dropped when it could not be sent for so long; 0: never" },
	{ 0 },
};

static const struct config_field partition_fields[] = {
	{ "metadata_keys", CONFIG_REFUSED, .help = "wick does not keep the headers of requests; remove it" },
	{ "cache_size", CONFIG_REFUSED, .help = "wick does not keep the headers of requests; remove it" },
	{ "idle_timeout", CONFIG_REFUSED, .help = "wick does not keep the headers of requests; remove it" },
	{ 0 },
};

static const struct config_field batch_fields[] = {
	{ "flush_timeout", CONFIG_DURATION, FIELD(struct queue_options, batch.flush_timeout_ns), .min = 1, .max = 1e18,
	  .help = "the longest that a batch which is too small waits for more" },
	{ "min_size", CONFIG_INTEGER, FIELD(struct queue_options, batch.min_size), .max = 1e15,
	  .help = "a batch is sent as soon as it is that large" },
	{ "max_size", CONFIG_INTEGER, FIELD(struct queue_options, batch.max_size), .max = 1e15,
	  .help = "a batch that is larger is sent in parts; 0: no limit" },
	{ "sizer", CONFIG_CHOICE, FIELD(struct queue_options, batch.sizer), .choices = batch_sizers,
	  .help = "what is counted: items (samples) or bytes; as the queue's unless that is requests" },
	{ "partition", CONFIG_SECTION, 0, .fields = partition_fields, .help = "a batch for each value of a header" },
	{ 0 },
};

const struct config_field queue_fields[] = {
	{ "enabled", CONFIG_BOOL, FIELD(struct queue_options, enabled),
	  .help = "if not, num_consumers are under way and the next is refused; nobody waits for the network" },
	{ "num_consumers", CONFIG_INTEGER, FIELD(struct queue_options, num_consumers), .min = 1, .max = 1000,
	  .help = "how many requests are under way at once, those included that wait for their next attempt" },
	{ "queue_size", CONFIG_INTEGER, FIELD(struct queue_options, queue_size), .min = 1, .max = 1e15,
	  .help = "how much may wait and be under way; in memory at most 64 MiB, unless sizer is bytes" },
	{ "sizer", CONFIG_CHOICE, FIELD(struct queue_options, sizer), .choices = queue_sizers,
	  .help = "what queue_size counts: requests, items (samples) or bytes (in memory, about)" },
	{ "block_on_overflow", CONFIG_BOOL, FIELD(struct queue_options, block_on_overflow),
	  .help = "who comes when the queue is full waits, up to 30 s, instead of being refused" },
	{ "wait_for_result", CONFIG_BOOL, FIELD(struct queue_options, wait_for_result),
	  .help = "who comes waits, up to 30 s, until it is sent, and is told if it was not" },
	{ "storage", CONFIG_TEXT, FIELD(struct queue_options, storage), .extension = true,
	  .help = "id of a file_storage extension: what waits is on disk, and survives the end of the process" },
	{ "batch", CONFIG_SECTION, 0, .fields = batch_fields, .present = FIELD_PRESENT(struct queue_options, has_batch),
	  .help = "join small batches, cut large ones; off unless it is there" },
	{ 0 },
};

void sender_check(const struct sender_options *options, struct config_place place, const char *path,
		  struct config_errors *errors)
{
	const struct queue_options *queue = &options->queue;

	if (!queue->enabled)
		return;
	if (*queue->storage && queue->wait_for_result)
		config_error(errors, place, path,
			     "sending_queue: wait_for_result does not go with storage; remove one of them");
	if (queue->has_batch && queue->batch.max_size && queue->batch.max_size < queue->batch.min_size)
		config_error(errors, place, path, "sending_queue::batch: max_size is below min_size");
	if (queue->has_batch && queue->sizer && (int)sender_batch_sizer(queue) == queue->sizer &&
	    queue->batch.min_size > queue->queue_size)
		config_error(errors, place, path,
			     "sending_queue::batch: min_size is above queue_size, which would never let that much in");
}

enum queue_sizer sender_batch_sizer(const struct queue_options *queue)
{
	if (queue->batch.sizer)
		return queue->batch.sizer;
	return queue->sizer == QUEUE_REQUESTS ? QUEUE_ITEMS : queue->sizer;
}
