// SPDX-License-Identifier: Apache-2.0
#include "exporters/interval.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/deadline.h"
#include "base/thread.h"
#include "profile/merge.h"
#include "profile/profile.h"

struct interval {
	struct interval_options options;
	pthread_mutex_t lock;		/* of the next five */
	pthread_cond_t changed;		/* something is there that was not, or it ends */
	struct merger *merger;		/* NULL: nothing is there */
	u64 samples, due_ns;
	bool ends;

	struct thread thread;
};

/* What was taken out under the lock. */
struct taken {
	struct merger *merger;
	u64 samples;
};

static struct taken take_out(struct interval *interval)
{
	struct taken taken = { TAKE(interval->merger), interval->samples };

	interval->samples = 0;
	return taken;
}

static void hand_over(struct interval *interval, struct taken taken)
{
	if (!taken.merger)
		return;
	interval->options.take(interval->options.arg, merger_finish(taken.merger), taken.samples);
	merger_free(taken.merger);
}

static int add(struct interval *interval, const struct profile *profile, u64 samples)
{
	int r = 0;

	if (!interval->merger) {
		r = merger_new(0, &interval->merger);
		interval->due_ns = monotonic_ns() + interval->options.length_ns;
		pthread_cond_signal(&interval->changed);
	}
	if (r == 0)
		r = merger_add(interval->merger, profile);
	if (r == 0)
		interval->samples += samples;
	return r;
}

int interval_add(struct interval *interval, const struct profile *profile, u64 samples)
{
	struct taken taken = { 0 };
	bool is_full;
	int r;

	pthread_mutex_lock(&interval->lock);
	r = add(interval, profile, samples);
	is_full = r == 0 && merger_bytes(interval->merger) >= interval->options.bytes_max;
	if (is_full || r < 0)
		taken = take_out(interval);
	pthread_mutex_unlock(&interval->lock);
	if (is_full) {
		hand_over(interval, taken);
	} else if (r < 0) {
		merger_free(taken.merger);
		interval->options.lose(interval->options.arg, taken.samples);
	}
	return r;
}

/* ---- Life ---------------------------------------------------------------------------------- */

/* Returns with the lock held, when what is there is due, or it ends. */
static void wait_until_due(struct interval *interval)
{
	while (!interval->ends) {
		u64 due_ns = interval->merger ? interval->due_ns : DEADLINE_NEVER;

		if (monotonic_ns() >= due_ns)
			return;
		(void)cond_wait_until(&interval->changed, &interval->lock, due_ns);
	}
}

static void *watch_time(void *arg)
{
	struct interval *interval = arg;
	bool ends = false;

	while (!ends) {
		struct taken taken;

		pthread_mutex_lock(&interval->lock);
		wait_until_due(interval);
		ends = interval->ends;
		taken = take_out(interval);
		pthread_mutex_unlock(&interval->lock);
		hand_over(interval, taken);
	}
	return NULL;
}

int interval_new(const struct interval_options *options, struct interval **ret_interval)
{
	struct interval *interval = calloc(1, sizeof(*interval));

	if (!interval)
		return -ENOMEM;
	interval->options = *options;
	pthread_mutex_init(&interval->lock, NULL);
	cond_init(&interval->changed);
	*ret_interval = interval;
	return 0;
}

int interval_start(struct interval *interval, struct buf *why)
{
	int r = thread_start(&interval->thread, "wick: interval", watch_time, interval);

	if (r < 0)
		buf_addf(why, "cannot start a thread: %s", strerror(-r));
	return r;
}

void interval_stop(struct interval *interval)
{
	pthread_mutex_lock(&interval->lock);
	interval->ends = true;
	pthread_cond_signal(&interval->changed);
	pthread_mutex_unlock(&interval->lock);
	thread_join(&interval->thread);
}

void interval_free(struct interval *interval)
{
	if (!interval)
		return;
	interval_stop(interval);
	merger_free(interval->merger);
	pthread_cond_destroy(&interval->changed);
	pthread_mutex_destroy(&interval->lock);
	free(interval);
}
