// SPDX-License-Identifier: Apache-2.0
#include "exporters/interval.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>

#include "base/buf.h"
#include "profile/profile.h"
#include "test.h"

#define FOREVER (3600 * 1000000000ull)

struct taker {
	pthread_mutex_t lock;
	pthread_cond_t came;
	u32 count;
	u64 samples, lost;
	s64 total;
	u32 rows;		/* of the last profile */
};

static void take(void *arg, struct profile *profile, u64 samples)
{
	struct taker *taker = arg;
	const struct profile_set *set = &profile->resources.at[0].scopes[0].sets[0];

	pthread_mutex_lock(&taker->lock);
	EQ(profile_check(profile), 0);
	taker->count++;
	taker->samples += samples;
	taker->rows = set->sample_count;
	for (u32 i = 0; i < set->sample_count; i++)
		taker->total += profile_sample_value(&set->samples[i]);
	pthread_cond_signal(&taker->came);
	pthread_mutex_unlock(&taker->lock);
	profile_free(profile);
}

static void lose(void *arg, u64 samples)
{
	((struct taker *)arg)->lost += samples;
}

static struct interval *begin(struct taker *taker, u64 length_ns, size_t bytes_max)
{
	struct interval *interval;
	struct buf why;

	*taker = (struct taker){ .lock = PTHREAD_MUTEX_INITIALIZER, .came = PTHREAD_COND_INITIALIZER };
	buf_init(&why, 1024);
	EQ(interval_new(&(struct interval_options){ length_ns, bytes_max, take, lose, taker }, &interval), 0);
	EQ(interval_start(interval, &why), 0);
	buf_done(&why);
	return interval;
}

/* One sample of one thread, with times. */
static struct profile *make(s64 tid, u32 times)
{
	struct profile *p = profile_new();
	struct profile_set *set = profile_add_set(p, profile_add_scope(p, profile_add_resource(p, NULL, 0)));
	u32 thread = profile_add_attribute_int(p, "thread.id", tid);
	struct profile_sample *sample = profile_add_sample(p, set);
	u64 at[16] = { 0 };

	sample->attributes = profile_copy_indices(p, &thread, 1);
	sample->time_count = times;
	sample->times_unix_ns = profile_copy(p, at, times * sizeof(*at));
	return p;
}

TEST(interval_joins_what_comes_until_it_ends)
{
	_cleanup_(profile_freep) struct profile *one = make(1, 3), *two = make(2, 5);
	struct taker taker;
	struct interval *interval = begin(&taker, FOREVER, SIZE_MAX);

	EQ(interval_add(interval, one, 1), 0);
	EQ(interval_add(interval, two, 1), 0);
	EQ(interval_add(interval, one, 1), 0);
	EQ(taker.count, 0);
	interval_stop(interval);
	EQ(taker.count, 1);
	EQ(taker.samples, 3);
	EQ(taker.rows, 2);
	EQ(taker.total, 11);
	interval_free(interval);
}

TEST(interval_does_not_wait_when_it_is_full)
{
	_cleanup_(profile_freep) struct profile *one = make(1, 3);
	struct taker taker;
	struct interval *interval = begin(&taker, FOREVER, 1);

	EQ(interval_add(interval, one, 1), 0);
	EQ(interval_add(interval, one, 1), 0);
	EQ(taker.count, 2);
	interval_free(interval);
	EQ(taker.count, 2);
	EQ(taker.total, 6);
}

TEST(interval_is_over_when_its_time_has_come)
{
	_cleanup_(profile_freep) struct profile *one = make(1, 3);
	struct taker taker;
	struct interval *interval = begin(&taker, 1000000, SIZE_MAX);

	for (u32 i = 1; i <= 2; i++) {
		EQ(interval_add(interval, one, 1), 0);
		pthread_mutex_lock(&taker.lock);
		while (taker.count < i)
			pthread_cond_wait(&taker.came, &taker.lock);
		pthread_mutex_unlock(&taker.lock);
	}
	interval_free(interval);
	EQ(taker.total, 6);
}

TEST(interval_counts_what_memory_did_not_hold)
{
	_cleanup_(profile_freep) struct profile *one = make(1, 3), *two = make(2, 3);
	struct taker taker;
	struct interval *interval = begin(&taker, FOREVER, SIZE_MAX);
	int r;

	EQ(interval_add(interval, one, 4), 0);
	test_alloc_fail(0);
	r = interval_add(interval, two, 5);
	test_alloc_reset();
	EQ(r, -ENOMEM);
	EQ(taker.lost, 4);
	EQ(interval_add(interval, two, 5), 0);
	interval_free(interval);
	EQ(taker.samples, 5);
}
