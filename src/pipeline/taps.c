// SPDX-License-Identifier: Apache-2.0
#include "pipeline/taps.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/deadline.h"
#include "base/lock.h"
#include "profile/clip.h"
#include "profile/merge.h"
#include "profile/profile.h"
#include "profile/split.h"
#include "tracer/counters.h"

struct tap {
	struct taps *taps;
	struct tap *next;
	struct clip clip;
	u64 end_ns;		/* CLOCK_MONOTONIC */
	struct merger *merger;
	bool is_complete;
	int err;
};

struct taps {
	pthread_mutex_t lock;	/* of all that follows, and of what is in taps */
	pthread_cond_t changed;
	struct tap *first;
	u32 count;
	u32 sources, frequency_hz;
	struct counter_value counters[COUNTER_VALUES_MAX];
	size_t counter_count;
	_Atomic u64 wanted_ns;	/* read without the lock: adding a window may take longer than sampling can wait */
};

struct taps *taps_new(void)
{
	struct taps *taps = calloc(1, sizeof(*taps));

	if (!taps)
		return NULL;
	atomic_init(&taps->wanted_ns, UINT64_MAX);
	pthread_mutex_init(&taps->lock, NULL);
	cond_init(&taps->changed);
	return taps;
}

void taps_free(struct taps *taps)
{
	if (!taps)
		return;
	pthread_cond_destroy(&taps->changed);
	pthread_mutex_destroy(&taps->lock);
	free(taps);
}

/* ---- Who samples --------------------------------------------------------------- */

void taps_join(struct taps *taps, u32 frequency_hz)
{
	if (!taps)
		return;
	LOCKED(&taps->lock);
	taps->sources++;
	taps->frequency_hz = frequency_hz;
}

void taps_leave(struct taps *taps)
{
	if (!taps)
		return;
	LOCKED(&taps->lock);
	taps->sources--;
	pthread_cond_broadcast(&taps->changed);
}

void taps_tell(struct taps *taps, const struct counter_value *values, size_t count)
{
	if (!taps)
		return;
	LOCKED(&taps->lock);
	taps->counter_count = count < COUNTER_VALUES_MAX ? count : COUNTER_VALUES_MAX;
	memcpy(taps->counters, values, taps->counter_count * sizeof(*values));
}

u64 taps_wanted_ns(struct taps *taps)
{
	return taps ? atomic_load(&taps->wanted_ns) : UINT64_MAX;
}

/* Whoever opens, completes or closes a tap calls it, with the lock. */
static void note_wanted(struct taps *taps)
{
	u64 wanted = UINT64_MAX;

	for (const struct tap *tap = taps->first; tap; tap = tap->next) {
		if (!tap->is_complete && tap->end_ns < wanted)
			wanted = tap->end_ns;
	}
	atomic_store(&taps->wanted_ns, wanted);
}

static void add(struct tap *tap, const struct profile *profile)
{
	if (tap->err == 0 && profile)
		tap->err = clip_merge(profile, &tap->clip, tap->merger);
	if (tap->err == 0 && merger_bytes(tap->merger) > TAP_BYTES_MAX)
		tap->err = -E2BIG;
}

void taps_offer(struct taps *taps, const struct profile *profile, u64 end_ns)
{
	if (!taps)
		return;
	LOCKED(&taps->lock);
	for (struct tap *tap = taps->first; tap; tap = tap->next) {
		if (tap->is_complete)
			continue;
		add(tap, profile);
		tap->is_complete = tap->err < 0 || end_ns >= tap->end_ns;
	}
	note_wanted(taps);
	pthread_cond_broadcast(&taps->changed);
}

/* ---- Who wants ------------------------------------------------------------------ */

size_t taps_counters(struct taps *taps, struct counter_value *ret_values, size_t count_max)
{
	size_t count;

	LOCKED(&taps->lock);
	count = taps->counter_count < count_max ? taps->counter_count : count_max;
	memcpy(ret_values, taps->counters, count * sizeof(*ret_values));
	return count;
}

u32 taps_frequency(struct taps *taps)
{
	LOCKED(&taps->lock);
	return taps->sources ? taps->frequency_hz : 0;
}

static int link_tap(struct taps *taps, struct tap *tap)
{
	int r = 0;

	LOCKED(&taps->lock);
	if (!taps->sources)
		r = -ENODEV;
	else if (taps->count == TAPS_MAX)
		r = -EBUSY;
	if (r == 0) {
		tap->taps = taps;
		tap->next = taps->first;
		taps->first = tap;
		taps->count++;
		note_wanted(taps);
	}
	return r;
}

static void unlink_tap(struct tap *tap)
{
	struct taps *taps = tap->taps;
	struct tap **link;

	if (!taps)
		return;
	LOCKED(&taps->lock);
	for (link = &taps->first; *link != tap;)
		link = &(*link)->next;
	*link = tap->next;
	taps->count--;
	note_wanted(taps);
}

int tap_open(struct taps *taps, u64 duration_ns, s64 pid, struct tap **ret_tap)
{
	_cleanup_(tap_closep) struct tap *tap = calloc(1, sizeof(*tap));
	u64 now_unix_ns = clock_ns(CLOCK_REALTIME);
	int r;

	if (!tap)
		return -ENOMEM;
	tap->clip = (struct clip){ now_unix_ns, now_unix_ns + duration_ns, pid };
	tap->end_ns = monotonic_ns() + duration_ns;
	r = merger_new(0, &tap->merger);
	if (r == 0)
		r = link_tap(taps, tap);
	if (r < 0)
		return r;
	*ret_tap = TAKE(tap);
	return 0;
}

void tap_close(struct tap *tap)
{
	if (!tap)
		return;
	unlink_tap(tap);
	merger_free(tap->merger);
	free(tap);
}

int tap_wait(struct tap *tap, int timeout_ms)
{
	u64 deadline_ns = deadline_after((u64)timeout_ms * 1000000);
	struct taps *taps = tap->taps;
	int r = 0;

	LOCKED(&taps->lock);
	while (!tap->is_complete && taps->sources && r == 0)
		r = cond_wait_until(&taps->changed, &taps->lock, deadline_ns);
	r = tap->is_complete ? tap->err < 0 ? tap->err : 1 : taps->sources ? 0 : -ENODEV;
	return r;
}

int tap_take(struct tap *tap, struct profile **ret_profile)
{
	_cleanup_(profile_freep) struct profile *all = NULL;

	LOCKED(&tap->taps->lock);
	tap->is_complete = true;
	note_wanted(tap->taps);
	all = merger_finish(tap->merger);
	return split_copy(all, ret_profile);
}
