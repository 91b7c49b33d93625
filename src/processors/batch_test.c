// SPDX-License-Identifier: Apache-2.0
/* The batch processor, between threads that send and one that looks. */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>

#include "base/log.h"
#include "base/metrics.h"
#include "pipeline/batch.h"
#include "pipeline/service.h"
#include "profile/dump_test.h"
#include "profile/profile.h"
#include "test.h"

extern const struct component_ops processor_batch;

/* Laid out as the options of batch.c. */
struct options {
	s64 timeout_ns, send_batch_size, send_batch_max_size;
};

struct sink {
	pthread_mutex_t lock;
	pthread_cond_t came;
	u32 batches;
	u64 samples, largest;
	int result;
};

static struct sink sink = { .lock = PTHREAD_MUTEX_INITIALIZER, .came = PTHREAD_COND_INITIALIZER };
static const struct consumer consumer;
static const struct consumers next = { &consumer, 1 };
static struct component_setup setup = { .id = "batch", .kind = COMPONENT_PROCESSOR, .next = &next };
static struct metrics *metrics;
static struct buf *why;

static int sink_consume(void *self, struct batch *batch)
{
	u64 samples = batch_samples(batch);

	pthread_mutex_lock(&sink.lock);
	sink.batches++;
	sink.samples += samples;
	if (samples > sink.largest)
		sink.largest = samples;
	pthread_cond_signal(&sink.came);
	pthread_mutex_unlock(&sink.lock);
	batch_unref(batch);
	return sink.result;
}

static const struct consumer consumer = { sink_consume, NULL };

static void *make(const struct options *options)
{
	void *self;

	metrics = metrics_new();
	setup.service = service_new(&(struct service_host){ .metrics = metrics });
	EQ(processor_batch.create(&setup, options, &self, why), 0);
	EQ(processor_batch.start(self, why), 0);
	return self;
}

static void end(void *self)
{
	processor_batch.stop(self, UINT64_MAX);
	processor_batch.free(self);
	service_free(setup.service);
	metrics_free(metrics);
}

static u64 send(void *self, unsigned int seed)
{
	struct batch *batch = batch_from_profile(profile_random(seed, 0));
	u64 samples = batch_samples(batch);

	EQ(processor_batch.consume(self, batch), 0);
	return samples;
}

static s64 counter(const char *name)
{
	const struct metric_label label = { "processor", "batch" };

	return metric_value(metrics_get(metrics, METRIC_COUNTER, name, "", &label, 1));
}

TEST(batch_processor_sends_when_there_is_enough)
{
	const struct options options = { .timeout_ns = INT64_MAX / 2, .send_batch_size = 1000 };
	void *self = make(&options);
	u64 sent = 0;

	while (sent < 1000) {
		EQ(sink.batches, 0);
		sent += send(self, (unsigned int)sent);
	}
	EQ(sink.batches, 1);
	EQ(sink.samples, sent);
	EQ(counter("otelcol_processor_batch_batch_size_trigger_send"), 1);
	end(self);
	EQ(sink.batches, 1);
}

TEST(batch_processor_cuts_what_is_too_large)
{
	const struct options options = {
		.timeout_ns = INT64_MAX / 2, .send_batch_size = 100, .send_batch_max_size = 120,
	};
	void *self = make(&options);
	u64 sent = 0;

	for (unsigned int i = 0; i < 10; i++)
		sent += send(self, i);
	end(self);
	EQ(sink.samples, sent);
	EQ(sink.largest, 120);
}

TEST(batch_processor_sends_when_time_is_up)
{
	const struct options options = { .timeout_ns = 1000000, .send_batch_size = 1 << 30 };
	void *self = make(&options);
	u64 sent = send(self, 1);

	pthread_mutex_lock(&sink.lock);
	while (sink.samples < sent)
		pthread_cond_wait(&sink.came, &sink.lock);
	pthread_mutex_unlock(&sink.lock);
	OK(counter("otelcol_processor_batch_timeout_trigger_send") >= 1);
	end(self);
}

TEST(batch_processor_sends_the_rest_when_it_stops)
{
	const struct options options = { .timeout_ns = INT64_MAX / 2, .send_batch_size = 1 << 30 };
	void *self = make(&options);
	u64 sent = send(self, 1) + send(self, 2);

	EQ(sink.batches, 0);
	end(self);
	EQ(sink.batches, 1);
	EQ(sink.samples, sent);
}

TEST(batch_processor_without_time_sends_at_once)
{
	const struct options options = { .send_batch_size = 1 << 30 };
	void *self = make(&options);

	send(self, 1);
	EQ(sink.batches, 1);
	send(self, 2);
	EQ(sink.batches, 2);
	end(self);
}

TEST(batch_processor_counts_what_is_refused)
{
	const struct options options = { .timeout_ns = INT64_MAX / 2, .send_batch_size = 1 };
	void *self = make(&options);
	u64 sent;

	log_setup(&(struct log_options){ .level = LOG_LEVELS, .fd = -1 });
	sink.result = -EAGAIN;
	sent = send(self, 1);
	EQ(counter("wick_processor_batch_lost_samples"), sent);
	end(self);
}

struct sender {
	void *self;
	u64 sent;
};

static void *sends(void *arg)
{
	struct sender *sender = arg;

	for (unsigned int i = 0; i < 30; i++)
		sender->sent += send(sender->self, i);
	return NULL;
}

TEST(batch_processor_takes_from_many_threads)
{
	const struct options options = {
		.timeout_ns = 2000000, .send_batch_size = 500, .send_batch_max_size = 600,
	};
	struct sender senders[4];
	pthread_t threads[4];
	void *self = make(&options);
	u64 sent = 0;

	for (int i = 0; i < 4; i++) {
		senders[i] = (struct sender){ self, 0 };
		EQ(pthread_create(&threads[i], NULL, sends, &senders[i]), 0);
	}
	for (int i = 0; i < 4; i++) {
		EQ(pthread_join(threads[i], NULL), 0);
		sent += senders[i].sent;
	}
	end(self);
	EQ(sink.samples, sent);
	OK(sink.largest <= 600);
}
