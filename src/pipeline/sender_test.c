// SPDX-License-Identifier: Apache-2.0
#include "pipeline/sender.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "pipeline/batch.h"
#include "pipeline/sender_parts.h"
#include "pipeline/storage.h"
#include "profile/profile.h"
#include "test.h"

#define SENDS_MAX 64
#define SECOND 1000000000ull

/* An exporter that does what the test says, of both kinds. */
struct fake {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct send_result results[SENDS_MAX];	/* of each attempt; the last one for all that follow */
	u32 result_count, attempts;
	u64 samples[SENDS_MAX];			/* of each attempt */
	/* The kind with requests in flight. */
	struct send *in_flight[SENDS_MAX];
	u32 in_flight_count, most_in_flight, cancelled;
	u32 allowed;				/* attempts that may end */
	bool woken;
	/* Storage for its queue. */
	char directory[64];
	struct metrics *metrics;
	struct sender *sender;
	struct sender_options options;
};

static struct send_result next_result(struct fake *fake, u64 samples)
{
	u32 i = fake->attempts++;

	OK(i < SENDS_MAX);
	fake->samples[i] = samples;
	return fake->results[i < fake->result_count ? i : fake->result_count - 1];
}

static void fake_send(void *self, struct batch *batch, struct send_result *ret_result)
{
	struct fake *fake = self;

	LOCKED(&fake->lock);
	*ret_result = next_result(fake, batch_samples(batch));
	pthread_cond_broadcast(&fake->changed);
}

static int fake_begin(void *self, struct send *send)
{
	struct fake *fake = self;

	LOCKED(&fake->lock);
	fake->in_flight[fake->in_flight_count++] = send;
	if (fake->in_flight_count > fake->most_in_flight)
		fake->most_in_flight = fake->in_flight_count;
	pthread_cond_broadcast(&fake->changed);
	return 0;
}

static void fake_wait(void *self, int timeout_ms)
{
	struct fake *fake = self;
	struct timespec end;
	int r = 0;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += timeout_ms < 0 ? 60 : timeout_ms / 1000;
	end.tv_nsec += timeout_ms < 0 ? 0 : timeout_ms % 1000 * 1000000;
	end.tv_sec += end.tv_nsec / 1000000000;
	end.tv_nsec %= 1000000000;
	pthread_mutex_lock(&fake->lock);
	while (!fake->woken && !(fake->allowed && fake->in_flight_count) && r == 0)
		r = pthread_cond_timedwait(&fake->changed, &fake->lock, &end);
	fake->woken = false;
	while (fake->allowed && fake->in_flight_count) {
		struct send *send = fake->in_flight[0];
		struct send_result result = next_result(fake, batch_samples(send_batch(send)));

		memmove(fake->in_flight, fake->in_flight + 1, --fake->in_flight_count * sizeof(send));
		fake->allowed--;
		pthread_mutex_unlock(&fake->lock);
		sender_done(send, &result);
		pthread_mutex_lock(&fake->lock);
	}
	pthread_cond_broadcast(&fake->changed);
	pthread_mutex_unlock(&fake->lock);
}

static void fake_wake(void *self)
{
	struct fake *fake = self;

	LOCKED(&fake->lock);
	fake->woken = true;
	pthread_cond_broadcast(&fake->changed);
}

static void fake_cancel(void *self, struct send *send)
{
	((struct fake *)self)->cancelled++;
}

static const struct sender_ops at_once = { .send = fake_send };
static const struct sender_ops in_flight = {
	.begin = fake_begin, .wait = fake_wait, .wake = fake_wake, .cancel = fake_cancel,
};

static int fake_open(void *self, const char *owner, struct storage **ret_storage, struct buf *why)
{
	struct storage_options options = { 0 };

	return storage_open(((struct fake *)self)->directory, owner, &options, ret_storage, why);
}
static const struct storage_ops fake_storage = { fake_open };

static void fake_init(struct fake *fake)
{
	static const struct sender_options defaults = SENDER_DEFAULTS(0);

	*fake = (struct fake){ .options = defaults, .result_count = 1, .metrics = metrics_new() };
	fake->options.retry.initial_interval_ns = 1;
	fake->options.retry.max_interval_ns = 1;
	pthread_mutex_init(&fake->lock, NULL);
	pthread_cond_init(&fake->changed, NULL);
	log_setup(&(struct log_options){ .level = LOG_LEVELS, .fd = 2 });	/* drops are meant here */
}

static void fake_start(struct fake *fake, const struct sender_ops *ops)
{
	struct sender_parts parts = { .id = "fake", .metrics = fake->metrics };
	struct buf why;

	buf_init(&why, 256);
	if (*fake->directory) {
		parts.storage = &fake_storage;
		parts.storage_self = fake;
	}
	EQ(sender_make(&parts, &fake->options, ops, fake, &fake->sender), 0);
	EQ(sender_start(fake->sender, &why), 0);
	buf_done(&why);
}

static void fake_stop(struct fake *fake, u64 limit_ns)
{
	sender_stop(fake->sender, limit_ns ? monotonic_ns() + limit_ns : 0);
	sender_free(TAKE(fake->sender));
}

static void fake_done(struct fake *fake)
{
	metrics_free(fake->metrics);
	pthread_cond_destroy(&fake->changed);
	pthread_mutex_destroy(&fake->lock);
}

/* Lets count more attempts end. */
static void allow(struct fake *fake, u32 count)
{
	LOCKED(&fake->lock);
	fake->allowed += count;
	pthread_cond_broadcast(&fake->changed);
}

static void wait_for_attempts(struct fake *fake, u32 count)
{
	LOCKED(&fake->lock);
	while (fake->attempts < count)
		pthread_cond_wait(&fake->changed, &fake->lock);
}

static void wait_for_in_flight(struct fake *fake, u32 count)
{
	LOCKED(&fake->lock);
	while (fake->in_flight_count < count)
		pthread_cond_wait(&fake->changed, &fake->lock);
}

static s64 value_of(struct fake *fake, const char *name, enum metric_kind kind)
{
	struct metric_label labels[] = { { "exporter", "fake" }, { "data_type", "profiles" } };

	return metric_value(metrics_get(fake->metrics, kind, name, "", labels, kind == METRIC_GAUGE ? 2 : 1));
}

static s64 sent(struct fake *fake)
{
	return value_of(fake, "otelcol_exporter_sent_profile_samples", METRIC_COUNTER);
}

static s64 failed(struct fake *fake)
{
	return value_of(fake, "otelcol_exporter_send_failed_profile_samples", METRIC_COUNTER);
}

static s64 refused(struct fake *fake)
{
	return value_of(fake, "otelcol_exporter_enqueue_failed_profile_samples", METRIC_COUNTER);
}

/* With that many samples, each with a stack of its own. */
static struct batch *new_batch(u32 samples)
{
	struct profile *profile = profile_new();
	struct profile_resource *resource = profile_add_resource(profile, NULL, 0);
	struct profile_set *set = profile_add_set(profile, profile_add_scope(profile, resource));

	for (u32 i = 0; i < samples; i++) {
		struct profile_sample *sample = profile_add_sample(profile, set);
		u32 location = profile_add_location(profile, &(struct profile_location){ .address = i + 1 });

		sample->stack = profile_add_stack(profile, &location, 1);
		sample->values = profile_copy(profile, &(s64){ 1 }, sizeof(s64));
		sample->value_count = 1;
	}
	return batch_from_profile(profile);
}

TEST(sender_sends_what_comes)
{
	struct fake fake;

	fake_init(&fake);
	fake_start(&fake, &at_once);
	for (u32 i = 1; i <= 5; i++)
		EQ(sender_consume(fake.sender, new_batch(i)), 0);
	EQ(sender_consume(fake.sender, new_batch(0)), 0);	/* goes nowhere */
	fake_stop(&fake, 60 * SECOND);
	EQ(fake.attempts, 5);
	for (u32 i = 0; i < 5; i++)
		EQ(fake.samples[i], i + 1);
	EQ(sent(&fake), 15);
	EQ(failed(&fake), 0);
	EQ(value_of(&fake, "otelcol_exporter_queue_size", METRIC_GAUGE), 0);
	EQ(value_of(&fake, "otelcol_exporter_queue_capacity", METRIC_GAUGE), 1000);
	EQ(value_of(&fake, "otelcol_exporter_in_flight_requests", METRIC_GAUGE), 0);
	fake_done(&fake);
}

TEST(sender_tries_again_until_it_works)
{
	struct fake fake;

	fake_init(&fake);
	fake.results[0].outcome = fake.results[1].outcome = SEND_RETRY;
	fake.results[1].delay_ns = 1000;
	fake.results[2] = (struct send_result){ .outcome = SEND_OK, .rejected = 2, .reason = "two were bad" };
	fake.result_count = 3;
	fake_start(&fake, &at_once);
	EQ(sender_consume(fake.sender, new_batch(7)), 0);
	wait_for_attempts(&fake, 3);
	fake_stop(&fake, 60 * SECOND);
	EQ(fake.attempts, 3);
	EQ(sent(&fake), 7);
	EQ(value_of(&fake, "wick_exporter_retries", METRIC_COUNTER), 2);
	EQ(value_of(&fake, "wick_exporter_rejected_profiles", METRIC_COUNTER), 2);
	fake_done(&fake);
}

TEST(sender_drops_what_will_never_be_taken)
{
	struct fake fake;

	fake_init(&fake);
	fake.results[0].outcome = SEND_PERMANENT;
	fake.results[1].outcome = SEND_OK;
	fake.result_count = 2;
	fake_start(&fake, &at_once);
	EQ(sender_consume(fake.sender, new_batch(3)), 0);
	EQ(sender_consume(fake.sender, new_batch(4)), 0);
	fake_stop(&fake, 60 * SECOND);
	EQ(fake.attempts, 2);
	EQ(failed(&fake), 3);
	EQ(sent(&fake), 4);
	fake_done(&fake);
}

TEST(sender_drops_what_it_may_not_try_again)
{
	struct fake fake;

	fake_init(&fake);
	fake.results[0].outcome = SEND_RETRY;
	fake.options.retry.enabled = false;
	fake_start(&fake, &at_once);
	EQ(sender_consume(fake.sender, new_batch(3)), 0);
	fake_stop(&fake, 60 * SECOND);
	EQ(failed(&fake), 3);
	fake_done(&fake);
	fake_init(&fake);
	fake.results[0].outcome = SEND_RETRY;
	fake.options.retry.max_elapsed_time_ns = 1;
	fake_start(&fake, &at_once);
	EQ(sender_consume(fake.sender, new_batch(4)), 0);
	wait_for_attempts(&fake, 1);
	fake_stop(&fake, 60 * SECOND);
	EQ(fake.attempts, 1);
	EQ(failed(&fake), 4);
	fake_done(&fake);
}

/* Whatever comes is cut into two that count as 4 and 3 samples; one more was sent, two never will be. */
static int fake_split(void *self, struct send *send)
{
	if (send_is_piece(send))
		return fake_begin(self, send);
	sender_split(send, (struct send_piece[]){ { new_batch(2), 4 }, { new_batch(1), 3 } }, 2, 1, 2);
	return 0;
}

TEST(sender_sends_pieces_in_the_place_of_a_request)
{
	static const struct sender_ops splitting = {
		.begin = fake_split, .wait = fake_wait, .wake = fake_wake, .cancel = fake_cancel,
	};
	struct fake fake;

	fake_init(&fake);
	fake.results[0].outcome = SEND_PERMANENT;
	fake.results[1].outcome = SEND_RETRY;
	fake.results[2].outcome = SEND_OK;
	fake.result_count = 3;
	fake.options.queue.num_consumers = 1;
	fake_start(&fake, &splitting);
	EQ(sender_consume(fake.sender, new_batch(10)), 0);
	allow(&fake, 3);
	wait_for_attempts(&fake, 3);
	fake_stop(&fake, 60 * SECOND);
	EQ(fake.attempts, 3);
	EQ(fake.samples[0], 2);
	EQ(fake.samples[1], 1);
	EQ(fake.samples[2], 1);
	EQ(sent(&fake), 1 + 3);
	EQ(failed(&fake), 2 + 4);
	EQ(value_of(&fake, "otelcol_exporter_queue_size", METRIC_GAUGE), 0);
	EQ(value_of(&fake, "otelcol_exporter_in_flight_requests", METRIC_GAUGE), 0);
	fake_done(&fake);
}

TEST(sender_has_only_so_many_requests_in_flight)
{
	struct fake fake;

	fake_init(&fake);
	fake.options.queue.num_consumers = 3;
	fake_start(&fake, &in_flight);
	for (u32 i = 0; i < 10; i++)
		EQ(sender_consume(fake.sender, new_batch(1)), 0);
	wait_for_in_flight(&fake, 3);
	allow(&fake, 10);
	wait_for_attempts(&fake, 10);
	fake_stop(&fake, 60 * SECOND);
	EQ(fake.most_in_flight, 3);
	EQ(sent(&fake), 10);
	fake_done(&fake);
}

TEST(sender_refuses_what_does_not_fit_and_counts_it)
{
	struct fake fake;

	fake_init(&fake);
	fake.options.queue.sizer = QUEUE_ITEMS;
	fake.options.queue.queue_size = 10;
	fake_start(&fake, &in_flight);
	EQ(sender_consume(fake.sender, new_batch(6)), 0);
	wait_for_in_flight(&fake, 1);			/* still counts */
	EQ(sender_consume(fake.sender, new_batch(4)), 0);
	EQ(sender_consume(fake.sender, new_batch(1)), -EAGAIN);
	EQ(sender_consume(fake.sender, new_batch(11)), -E2BIG);
	EQ(value_of(&fake, "otelcol_exporter_queue_size", METRIC_GAUGE), 10);
	allow(&fake, 2);
	wait_for_attempts(&fake, 2);
	fake_stop(&fake, 60 * SECOND);
	EQ(refused(&fake), 12);
	EQ(sent(&fake), 10);
	fake_done(&fake);
}

TEST(sender_without_a_queue_takes_as_many_as_can_be_in_flight)
{
	struct fake fake;

	fake_init(&fake);
	fake.options.queue.enabled = false;
	fake.options.queue.num_consumers = 2;
	fake_start(&fake, &in_flight);
	EQ(sender_consume(fake.sender, new_batch(1)), 0);
	EQ(sender_consume(fake.sender, new_batch(1)), 0);
	EQ(sender_consume(fake.sender, new_batch(1)), -EAGAIN);
	allow(&fake, 2);
	fake_stop(&fake, 60 * SECOND);
	EQ(sent(&fake), 2);
	fake_done(&fake);
}

TEST(sender_drops_and_counts_what_is_left_at_the_deadline)
{
	struct fake fake;

	fake_init(&fake);
	fake.options.queue.num_consumers = 2;
	fake_start(&fake, &in_flight);
	for (u32 i = 0; i < 5; i++)
		EQ(sender_consume(fake.sender, new_batch(2)), 0);
	wait_for_in_flight(&fake, 2);
	fake_stop(&fake, 0);
	EQ(fake.cancelled, 2);
	EQ(failed(&fake), 10);
	EQ(sent(&fake), 0);
	EQ(value_of(&fake, "otelcol_exporter_in_flight_requests", METRIC_GAUGE), 0);
	fake_done(&fake);
}

TEST(sender_does_not_wait_for_its_next_attempt_when_it_stops)
{
	struct fake fake;

	fake_init(&fake);
	fake.options.retry.initial_interval_ns = fake.options.retry.max_interval_ns = 3600 * SECOND;
	fake.options.retry.max_elapsed_time_ns = 0;
	fake.results[0].outcome = SEND_RETRY;
	fake.results[1].outcome = SEND_OK;
	fake.result_count = 2;
	fake_start(&fake, &at_once);
	EQ(sender_consume(fake.sender, new_batch(2)), 0);
	wait_for_attempts(&fake, 1);
	fake_stop(&fake, 60 * SECOND);
	EQ(sent(&fake), 2);
	fake_done(&fake);
}

struct caller {
	struct fake *fake;
	u32 samples;
	int result;
};

static void *call(void *arg)
{
	struct caller *caller = arg;

	caller->result = sender_consume(caller->fake->sender, new_batch(caller->samples));
	return NULL;
}

TEST(sender_tells_who_waits_for_the_result)
{
	struct fake fake;

	fake_init(&fake);
	fake.options.queue.wait_for_result = true;
	fake.options.retry.enabled = false;
	fake.results[1].outcome = SEND_PERMANENT;
	fake.results[2].outcome = SEND_RETRY;
	fake.result_count = 3;
	fake_start(&fake, &at_once);
	EQ(sender_consume(fake.sender, new_batch(1)), 0);
	EQ(sender_consume(fake.sender, new_batch(1)), -EBADMSG);
	EQ(sender_consume(fake.sender, new_batch(1)), -EAGAIN);
	fake_stop(&fake, 60 * SECOND);
	fake_done(&fake);
}

TEST(sender_lets_who_comes_wait_for_room)
{
	struct fake fake;
	struct caller caller = { &fake, 1, 1 };
	pthread_t thread;

	fake_init(&fake);
	fake.options.queue.block_on_overflow = true;
	fake.options.queue.queue_size = 1;
	fake_start(&fake, &in_flight);
	EQ(sender_consume(fake.sender, new_batch(1)), 0);
	EQ(pthread_create(&thread, NULL, call, &caller), 0);
	allow(&fake, 2);
	EQ(pthread_join(thread, NULL), 0);
	EQ(caller.result, 0);
	fake_stop(&fake, 60 * SECOND);
	EQ(sent(&fake), 2);
	fake_done(&fake);
}

TEST(sender_joins_small_batches_and_cuts_large_ones)
{
	struct fake fake;

	fake_init(&fake);
	fake.options.queue.has_batch = true;
	fake.options.queue.batch.flush_timeout_ns = 3600 * SECOND;
	fake.options.queue.batch.min_size = 10;
	fake.options.queue.batch.max_size = 12;
	fake_start(&fake, &in_flight);
	allow(&fake, 10);
	for (u32 i = 0; i < 3; i++)
		EQ(sender_consume(fake.sender, new_batch(4)), 0);
	wait_for_attempts(&fake, 1);
	EQ(sender_consume(fake.sender, new_batch(30)), 0);
	wait_for_attempts(&fake, 4);
	EQ(sender_consume(fake.sender, new_batch(1)), 0);	/* too little, until the end */
	fake_stop(&fake, 60 * SECOND);
	EQ(fake.attempts, 5);
	EQ(fake.samples[0], 12);
	EQ(fake.samples[1] + fake.samples[2] + fake.samples[3], 30);
	for (u32 i = 1; i < 4; i++)
		OK(fake.samples[i] <= 12);
	EQ(fake.samples[4], 1);
	EQ(sent(&fake), 43);
	EQ(value_of(&fake, "otelcol_exporter_queue_size", METRIC_GAUGE), 0);
	fake_done(&fake);
}

TEST(sender_sends_a_small_batch_when_it_has_waited_long_enough)
{
	struct fake fake;

	fake_init(&fake);
	fake.options.queue.has_batch = true;
	fake.options.queue.batch.flush_timeout_ns = 1;
	fake_start(&fake, &at_once);
	EQ(sender_consume(fake.sender, new_batch(4)), 0);
	wait_for_attempts(&fake, 1);
	fake_stop(&fake, 60 * SECOND);
	EQ(sent(&fake), 4);
	fake_done(&fake);
}

TEST(sender_leaves_what_it_has_to_the_next_of_the_same_id)
{
	struct fake old, new;

	fake_init(&old);
	fake_init(&new);
	old.options.queue.num_consumers = 2;
	old.options.retry.initial_interval_ns = 3600 * SECOND;
	old.options.retry.max_elapsed_time_ns = 0;
	old.results[0].outcome = SEND_RETRY;
	fake_start(&old, &in_flight);
	for (u32 i = 1; i <= 5; i++)
		EQ(sender_consume(old.sender, new_batch(i)), 0);
	wait_for_in_flight(&old, 2);
	allow(&old, 1);				/* one fails and waits, one is in flight, three wait */
	wait_for_attempts(&old, 1);
	fake_start(&new, &at_once);
	allow(&old, 1);
	fake_stop(&old, 60 * SECOND);
	wait_for_attempts(&new, 5);
	fake_stop(&new, 60 * SECOND);
	EQ(failed(&old), 0);
	EQ(sent(&old), 0);
	EQ(old.attempts, 2);
	EQ(sent(&new), 15);
	fake_done(&old);
	fake_done(&new);
}

TEST(sender_keeps_what_the_next_has_no_room_for)
{
	struct fake old, new;

	fake_init(&old);
	fake_init(&new);
	new.options.queue.queue_size = 1;
	fake_start(&old, &in_flight);
	fake_start(&new, &in_flight);
	EQ(sender_consume(new.sender, new_batch(1)), 0);
	for (u32 i = 0; i < 20; i++)
		EQ(sender_consume(old.sender, new_batch(1)), 0);
	allow(&old, 20);
	fake_stop(&old, 60 * SECOND);
	EQ(sent(&old), 20);
	allow(&new, 1);
	fake_stop(&new, 60 * SECOND);
	EQ(sent(&new), 1);
	fake_done(&old);
	fake_done(&new);
}

TEST(sender_finds_on_disk_what_was_not_sent)
{
	struct fake fake;

	fake_init(&fake);
	snprintf(fake.directory, sizeof(fake.directory), "/tmp/wick-sender-%d", (int)getpid());
	EQ(mkdir(fake.directory, 0700), 0);
	fake.options.queue.num_consumers = 2;
	fake_start(&fake, &in_flight);
	for (u32 i = 1; i <= 5; i++)
		EQ(sender_consume(fake.sender, new_batch(i)), 0);
	wait_for_in_flight(&fake, 2);
	allow(&fake, 1);
	wait_for_attempts(&fake, 1);
	fake_stop(&fake, 0);			/* at once: nothing is lost */
	EQ(failed(&fake), 0);
	EQ(sent(&fake), 1);
	fake.in_flight_count = 0;
	fake_start(&fake, &in_flight);
	EQ(value_of(&fake, "otelcol_exporter_queue_size", METRIC_GAUGE), 4);
	allow(&fake, 4);
	wait_for_attempts(&fake, 5);
	fake_stop(&fake, 60 * SECOND);
	EQ(sent(&fake), 15);
	for (u32 i = 1; i < 5; i++)
		EQ(fake.samples[i], i + 1);
	fake_start(&fake, &in_flight);
	EQ(value_of(&fake, "otelcol_exporter_queue_size", METRIC_GAUGE), 0);
	fake_stop(&fake, 60 * SECOND);
	EQ(value_of(&fake, "wick_exporter_storage_damaged_records", METRIC_COUNTER), 0);
	fake_done(&fake);
	snprintf(fake.directory, sizeof(fake.directory), "/tmp/wick-sender-%d/exporter_2ffake/lock", (int)getpid());
	EQ(unlink(fake.directory), 0);
	*strrchr(fake.directory, '/') = '\0';
	EQ(rmdir(fake.directory), 0);
	*strrchr(fake.directory, '/') = '\0';
	EQ(rmdir(fake.directory), 0);
}
