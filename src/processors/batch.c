// SPDX-License-Identifier: Apache-2.0
/*
 * batch: gathers what comes until there is enough of it, or until it has waited long enough, and sends it
 * on as one; what is more than the maximum is cut.
 *
 *  - What is gathered is held as it came; it is joined when it leaves, by the thread that completed it or
 *    by the one that watches the time.
 *  - Senders are told 0 at once: if what comes next refuses, the samples are lost, counted and logged.
 *  - Bounded: send_batch_size samples, HELD_BYTES_MAX, HELD_MAX batches; past any of them it sends at once.
 */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <string.h>

#include "base/clock.h"
#include "base/deadline.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/thread.h"
#include "pipeline/batch.h"
#include "pipeline/regroup.h"
#include "pipeline/service.h"

#define HELD_MAX 1024
#define HELD_BYTES_MAX (BATCH_BYTES_MAX / 2)

struct options {
	s64 timeout_ns;
	s64 send_batch_size, send_batch_max_size;
};

/* What waits. Taken as a whole by whoever sends it. */
struct held {
	struct batch *at[HELD_MAX];
	u32 count;
	u64 samples;
	size_t bytes;
	u64 due_ns;		/* CLOCK_MONOTONIC; good if count is not 0 */
};

struct batcher {
	const struct component_setup *setup;
	const struct options *options;
	struct metric *by_size, *by_time, *lost;

	pthread_mutex_t lock;
	pthread_cond_t changed;		/* something waits that did not, or it ends */
	struct held held;
	bool ends;

	struct thread thread;
};

static int send_one(void *arg, struct batch *batch)
{
	struct batcher *b = arg;
	u64 samples = batch_samples(batch);
	int r = consumers_send(b->setup->next, batch);

	if (r == 0)
		return 0;
	metric_add(b->lost, samples);
	log_warn(b->setup->id, "%llu samples are lost: what comes next refused them: %s", (unsigned long long)samples,
		 strerror(-r));
	return 0;
}

/* Takes over what was held. */
static void send_held(struct batcher *b, struct held *held)
{
	u64 lost = 0;
	int r;

	r = batches_regroup(held->at, held->count, (u64)b->options->send_batch_max_size, send_one, b, &lost);
	for (u32 i = 0; i < held->count; i++)
		batch_unref(held->at[i]);
	if (r == 0)
		return;
	metric_add(b->lost, lost);
	log_warn(b->setup->id, "%llu samples are lost: they cannot be joined: %s", (unsigned long long)lost,
		 strerror(-r));
}

static void take(struct batcher *b, struct held *ret_held)
{
	memcpy(ret_held->at, b->held.at, b->held.count * sizeof(b->held.at[0]));
	ret_held->count = b->held.count;
	b->held.count = 0;
	b->held.samples = 0;
	b->held.bytes = 0;
}

static bool is_enough(const struct batcher *b)
{
	const struct options *o = b->options;

	return !o->timeout_ns || b->held.samples >= (u64)o->send_batch_size || b->held.count == HELD_MAX ||
	       b->held.bytes >= HELD_BYTES_MAX;
}

static int batcher_consume(void *self, struct batch *batch)
{
	struct batcher *b = self;
	size_t weight = batch_weight(batch);
	struct held ready;
	bool send;

	pthread_mutex_lock(&b->lock);
	if (!b->held.count) {
		b->held.due_ns = monotonic_ns() + (u64)b->options->timeout_ns;
		pthread_cond_signal(&b->changed);
	}
	b->held.at[b->held.count++] = batch;
	b->held.samples += batch_samples(batch);
	b->held.bytes += weight;
	send = is_enough(b);
	if (send)
		take(b, &ready);
	pthread_mutex_unlock(&b->lock);
	if (!send)
		return 0;
	metric_add(b->by_size, 1);
	send_held(b, &ready);
	return 0;
}

/* Returns with the lock held, when what waits is due, or it ends. */
static void wait_until_due(struct batcher *b)
{
	while (!b->ends) {
		if (b->held.count && monotonic_ns() >= b->held.due_ns)
			return;
		(void)cond_wait_until(&b->changed, &b->lock, b->held.count ? b->held.due_ns : DEADLINE_NEVER);
	}
}

static void *watch_time(void *arg)
{
	struct batcher *b = arg;
	struct held ready;
	bool ends = false;

	while (!ends) {
		pthread_mutex_lock(&b->lock);
		wait_until_due(b);
		ends = b->ends;
		take(b, &ready);
		pthread_mutex_unlock(&b->lock);
		if (!ready.count)
			continue;
		metric_add(b->by_time, 1);
		send_held(b, &ready);
	}
	return NULL;
}

/* ---- Life ------------------------------------------------------------------------- */

static void make_counters(struct batcher *b)
{
	const struct metric_label label = { "processor", b->setup->id };
	struct metrics *metrics = service_metrics(b->setup->service);

	b->by_size = metrics_get(metrics, METRIC_COUNTER, "otelcol_processor_batch_batch_size_trigger_send",
				 "Times a batch was sent because there was enough of it", &label, 1);
	b->by_time = metrics_get(metrics, METRIC_COUNTER, "otelcol_processor_batch_timeout_trigger_send",
				 "Times a batch was sent because it had waited long enough", &label, 1);
	b->lost = metrics_get(metrics, METRIC_COUNTER, "wick_processor_batch_lost_samples",
			      "Samples that could not be joined, or that what comes next refused", &label, 1);
}

static int batcher_create(const struct component_setup *setup, const void *options, void **ret_self, struct buf *why)
{
	struct batcher *b = calloc(1, sizeof(*b));

	if (!b)
		return -ENOMEM;
	b->setup = setup;
	b->options = options;
	make_counters(b);
	pthread_mutex_init(&b->lock, NULL);
	cond_init(&b->changed);
	*ret_self = b;
	return 0;
}

static int batcher_start(void *self, struct buf *why)
{
	struct batcher *b = self;

	return b->options->timeout_ns ? thread_start(&b->thread, "wick: batch", watch_time, b) : 0;
}

/* The thread sends what is left before it ends: nothing comes any more, the receivers have stopped. */
static void batcher_stop(void *self, u64 deadline_ns)
{
	struct batcher *b = self;

	pthread_mutex_lock(&b->lock);
	b->ends = true;
	pthread_cond_signal(&b->changed);
	pthread_mutex_unlock(&b->lock);
	thread_join(&b->thread);
}

static void batcher_free(void *self)
{
	struct batcher *b = self;

	if (!b)
		return;
	for (u32 i = 0; i < b->held.count; i++)
		batch_unref(b->held.at[i]);
	pthread_cond_destroy(&b->changed);
	pthread_mutex_destroy(&b->lock);
	free(b);
}

/* ---- Options ---------------------------------------------------------------------- */

static const struct options defaults = { .timeout_ns = 200000000, .send_batch_size = 8192 };

static const struct config_field fields[] = {
	{ "timeout", CONFIG_DURATION, FIELD(struct options, timeout_ns), .min = 0, .max = INFINITY,
	  .help = "time after which what has come is sent, however little; 0: at once" },
	{ "send_batch_size", CONFIG_INTEGER, FIELD(struct options, send_batch_size), .min = 0, .max = 1e9,
	  .help = "samples that are sent as soon as there are so many; 0: at once" },
	{ "send_batch_max_size", CONFIG_INTEGER, FIELD(struct options, send_batch_max_size), .min = 0, .max = 1e9,
	  .help = "samples past which a batch is cut; 0: never" },
	{ "metadata_keys", CONFIG_REFUSED, .help = "wick does not batch by who sent a request; remove it" },
	{ "metadata_cardinality_limit", CONFIG_REFUSED,
	  .help = "wick does not batch by who sent a request; remove it" },
	{ 0 },
};

static void batcher_check(const void *options, struct config_place place, const char *path,
			  struct config_errors *errors)
{
	const struct options *o = options;

	if (o->send_batch_max_size && o->send_batch_max_size < o->send_batch_size)
		config_error(errors, place, path, "send_batch_max_size must be greater or equal to send_batch_size");
}

const struct component_ops processor_batch = {
	.type = "batch",
	.help = "joins small batches and cuts large ones",
	.fields = fields,
	.options_bytes = sizeof(struct options),
	.defaults = &defaults,
	.check = batcher_check,
	.create = batcher_create,
	.start = batcher_start,
	.looks = LOOKS_AT_PROFILE,
	.consume = batcher_consume,
	.stop = batcher_stop,
	.free = batcher_free,
};
