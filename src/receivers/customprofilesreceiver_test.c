// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>

#include "base/buf.h"
#include "base/metrics.h"
#include "pipeline/batch.h"
#include "pipeline/component.h"
#include "pipeline/service.h"
#include "profile/profile.h"
#include "test.h"

extern const struct component_ops receiver_customprofilesreceiver;

struct sink {
	pthread_mutex_t lock;
	pthread_cond_t came;
	struct batch *first;
	u32 count;
};

static int consume(void *self, struct batch *batch)
{
	struct sink *sink = self;

	pthread_mutex_lock(&sink->lock);
	if (!sink->first)
		sink->first = batch_ref(batch);
	sink->count++;
	pthread_cond_signal(&sink->came);
	pthread_mutex_unlock(&sink->lock);
	batch_unref(batch);
	return 0;
}

TEST(customprofilesreceiver_sends_a_profile_each_interval)
{
	const struct component_ops *ops = &receiver_customprofilesreceiver;
	struct sink sink = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL, 0 };
	struct consumer consumer = { consume, &sink };
	struct consumers consumers = { &consumer, 1 };
	struct metrics *metrics = metrics_new();
	struct service *service = service_new(&(struct service_host){ .metrics = metrics });
	struct component_setup setup = { .id = "custom", .next = &consumers, .service = service };
	s64 options[2] = { 1000000, 0 };	/* report_interval comes first */
	const struct profile *profile;
	const struct any *container;
	struct buf why;
	void *self;

	buf_init(&why, 256);
	EQ(ops->create(&setup, options, &self, &why), 0);
	EQ(ops->start(self, &why), 0);
	pthread_mutex_lock(&sink.lock);
	while (sink.count < 3)
		pthread_cond_wait(&sink.came, &sink.lock);
	pthread_mutex_unlock(&sink.lock);
	ops->stop(self, 0);
	ops->free(self);
	EQ(batch_samples(sink.first), 1);
	EQ(batch_profile(sink.first, &profile), 0);
	EQ(profile_check(profile), 0);
	container = keyvalue_find(profile->resources.at[0].attributes, profile->resources.at[0].attribute_count,
				  "container.id");
	OK(container && container->string.len);
	batch_unref(sink.first);
	service_free(service);
	metrics_free(metrics);
	buf_done(&why);
}
