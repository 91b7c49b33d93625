// SPDX-License-Identifier: Apache-2.0
#include "pipeline/gather.h"

#include <errno.h>
#include <stdint.h>

#include "base/array.h"
#include "pipeline/batch.h"
#include "pipeline/queue.h"
#include "pipeline/regroup.h"
#include "pipeline/sender.h"

#define ITEMS_MAX 1024u			/* of one request */
#define WEIGHT_MAX (32u << 20)

struct gather {
	const struct queue_options *options;
	struct queue *queue;
	/* Items that are to be one request, and when the first of them was taken. */
	struct queue_item *first, **last;
	u32 count;
	u64 size, weight, since_ns;
	/* Those of a list that could not be joined. */
	struct queue_item *apart;
	/* The requests that a list became, and the list. */
	struct batch **parts;
	u32 part_count, part_next, part_cap;
	struct queue_item *parts_of;
};

int gather_new(const struct queue_options *options, struct queue *queue, struct gather **ret_gather)
{
	struct gather *gather = calloc(1, sizeof(*gather));

	if (!gather)
		return -ENOMEM;
	gather->options = options;
	gather->queue = queue;
	gather->last = &gather->first;
	*ret_gather = gather;
	return 0;
}

static void drop_parts(struct gather *gather)
{
	while (gather->part_next < gather->part_count)
		batch_unref(gather->parts[gather->part_next++]);
	gather->part_count = gather->part_next = 0;
}

void gather_free(struct gather *gather)
{
	if (!gather)
		return;
	drop_parts(gather);
	free(gather->parts);
	free(gather);
}

static bool joins(const struct gather *gather)
{
	return gather->options->enabled && gather->options->has_batch;
}

static u64 size_of(const struct gather *gather, struct batch *batch)
{
	return sender_batch_sizer(gather->options) == QUEUE_BYTES ? batch_weight(batch) : batch_samples(batch);
}

static bool is_full(const struct gather *gather)
{
	return gather->count && (!joins(gather) || gather->size >= (u64)gather->options->batch.min_size ||
				 gather->count == ITEMS_MAX || gather->weight >= WEIGHT_MAX);
}

static void fill(struct gather *gather, u64 now_ns)
{
	struct queue_item *item;

	while (!is_full(gather) && (item = queue_take(gather->queue))) {
		if (!gather->count++)
			gather->since_ns = now_ns;
		*gather->last = item;
		gather->last = &item->next;
		if (!joins(gather))
			continue;
		gather->size += size_of(gather, item->batch);
		gather->weight += batch_weight(item->batch);
	}
}

static int add_part(void *arg, struct batch *batch)
{
	struct gather *gather = arg;
	int r = array_reserve(&gather->parts, &gather->part_cap, gather->part_count + 1, sizeof(*gather->parts));

	if (r < 0)
		batch_unref(batch);
	else
		gather->parts[gather->part_count++] = batch;
	return r;
}

/* How many samples go into a part: as many as are max_size of bytes, if they are all alike. */
static u64 part_samples(const struct gather *gather, struct batch *const *list, u32 count)
{
	u64 max = joins(gather) ? (u64)gather->options->batch.max_size : 0, samples = 0, bytes = 0;

	if (!max || sender_batch_sizer(gather->options) == QUEUE_ITEMS)
		return max;
	for (u32 i = 0; i < count; i++) {
		samples += batch_samples(list[i]);
		bytes += batch_weight(list[i]);
	}
	return bytes <= max ? 0 : 1 + (u64)((double)samples * (double)max / (double)bytes);
}

/* Joins the list, and cuts it if it is too large. -errno: it is as it was. */
static int make_parts(struct gather *gather)
{
	struct batch *list[ITEMS_MAX];
	u32 count = 0;
	u64 lost;
	int r;

	for (struct queue_item *item = gather->first; item; item = item->next)
		list[count++] = item->batch;
	r = batches_regroup(list, count, part_samples(gather, list, count), add_part, gather, &lost);
	if (r < 0) {
		drop_parts(gather);
		return r;
	}
	gather->parts_of = gather->first;
	for (struct queue_item *item = gather->first; item; item = item->next) {
		item->parts = gather->part_count;
		batch_unref(TAKE(item->batch));
	}
	return 0;
}

static bool fits(const struct gather *gather)
{
	return gather->count == 1 && (!joins(gather) || !gather->options->batch.max_size ||
				      gather->size <= (u64)gather->options->batch.max_size);
}

/* What was gathered is ready to be sent: joined if that can be, else one by one. */
static void make_ready(struct gather *gather)
{
	if (fits(gather) || make_parts(gather) < 0)
		gather->apart = gather->first;
	gather->first = NULL;
	gather->last = &gather->first;
	gather->count = 0;
	gather->size = gather->weight = 0;
}

static bool take_ready(struct gather *gather, struct gathered *ret_gathered)
{
	struct queue_item *item = gather->apart;

	if (item) {
		gather->apart = TAKE(item->next);
		*ret_gathered = (struct gathered){ batch_ref(item->batch), item };
		return true;
	}
	if (gather->part_next == gather->part_count)
		return false;
	*ret_gathered = (struct gathered){ gather->parts[gather->part_next++], gather->parts_of };
	if (gather->part_next == gather->part_count)
		gather->part_next = gather->part_count = 0;
	return true;
}

bool gather_next(struct gather *gather, u64 now_ns, bool drain, struct gathered *ret_gathered)
{
	if (take_ready(gather, ret_gathered))
		return true;
	fill(gather, now_ns);
	if (!gather->count || (!is_full(gather) && !drain && now_ns < gather_due(gather)))
		return false;
	make_ready(gather);
	return take_ready(gather, ret_gathered);
}

u64 gather_due(const struct gather *gather)
{
	return gather->count ? gather->since_ns + (u64)gather->options->batch.flush_timeout_ns : UINT64_MAX;
}
