// SPDX-License-Identifier: Apache-2.0
#include "pipeline/ticker.h"

#include <pthread.h>

#include "base/lock.h"
#include "test.h"

struct ticks {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int count;
};

static void tick(void *arg)
{
	struct ticks *c = arg;

	LOCKED(&c->lock);
	c->count++;
	pthread_cond_signal(&c->changed);
}

TEST(ticker_ticks_until_it_is_stopped)
{
	struct ticks c = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0 };
	struct ticker *ticker;
	int count;

	EQ(ticker_start(&(struct ticker_options){ .name = "test", .interval_ns = 1000000, .tick = tick, .arg = &c },
			&ticker), 0);
	pthread_mutex_lock(&c.lock);
	while (c.count < 3)
		pthread_cond_wait(&c.changed, &c.lock);
	pthread_mutex_unlock(&c.lock);
	ticker_stop(ticker);
	count = c.count;
	OK(count >= 3);
	ticker_stop(NULL);
	EQ(c.count, count);
}

/* It would wait for an hour. */
TEST(ticker_stops_while_it_waits)
{
	struct ticks c = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0 };
	struct ticker *ticker;

	EQ(ticker_start(&(struct ticker_options){ .name = "test", .delay_ns = 3600000000000, .interval_ns = 1,
						  .tick = tick, .arg = &c }, &ticker), 0);
	ticker_stop(ticker);
	EQ(c.count, 0);
}
