// SPDX-License-Identifier: Apache-2.0
#include "tracer/tracer.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/offload.h"
#include "exe/background_reader.h"
#include "proc/peek.h"
#include "tracer/ingest.h"
#include "tracer/loader.h"
#include "tracer/obi_map.h"
#include "tracer/part_counters.h"
#include "tracer/record.h"
#include "trace/window.h"

#define ACCOUNT_BYTES (64u << 10)	/* more than the kernel hands out at once */
#define ASLEEP_MAX 4096			/* stacks of threads that wait at the end of a window: 20 us each */
#define SETTLE_NS 2000000ull		/* process events of so long ago have all arrived */
#define SWEEP_NS 30000000000ull
#define CPUS_NS 1000000000ull
#define OBI_NS 2000000000ull
#define CLOCK_TRIES 3
#define CLOSE_NS_MAX 100000000ull	/* for samples that belong to a window that ends */
#define WAITING_MS 3			/* while samples wait for earlier events */
#define FILES_MS 20			/* ... for files: a thread may have to be started for them */
#define LEARNING_MS_MIN 5		/* while frames come that need to be named soon: half a period, within these */
#define LEARNING_MS_MAX 25
#define DRAIN_NS 500000000ull		/* for records, before process events and the end get their turn */
#define DRAIN_LAST_NS 10000000000ull	/* ... when there will be no more of them */

struct tracer {
	struct loader *loader;
	struct process_choice *choice;
	struct boost_list boosts;
	struct containers *containers;
	struct thread_labels *labels;	/* NULL: none are wanted */
	_Atomic(struct process_choice *) next_choice;
	struct reader *reader;		/* of names; only its counters are ours */
	struct background_reader *files;
	struct peek *peek;
	struct sideband *sideband;
	struct sampler *sampler;
	struct ingest *ingest;
	struct ring_buffer *ring;
	/* Threads that wait at the end of a window: one of `stride` is taken, in turns. */
	u32 asleep_count, asleep_taken, asleep_stride, asleep_pass;
	u64 asleep_left_out;
	struct ring_buffer *kicks;	/* nothing comes through them, but they are to be emptied; NULL: none */
	int epoll_fd, wake_fd;
	u32 frequency_hz;
	int learning_ms, waiting_ms;
	bool rests;		/* process events stay where they are; what does not fit is read from /proc later */
	u64 swept_ns, cpus_ns, obi_ns;
	struct obi_map obi;
	u64 first_sample_ns;
	u64 drain_end_ns;
	struct tracer_cost cost;
	bool has_more;		/* to settle, of what has been read */
};

/* -EINTR ends the reading, which else goes on for as long as there is more: that may be always, where we are slow. */
static int on_record(void *arg, void *data, size_t bytes)
{
	struct tracer *t = arg;

	if (!t->first_sample_ns)
		t->first_sample_ns = monotonic_ns();
	ingest_record(t->ingest, data, bytes);
	return monotonic_ns() > t->drain_end_ns ? -EINTR : 0;
}

/* How many records there were, or -errno; -EINTR if there are more. */
static int tracer_drain(struct tracer *t)
{
	/*
	 * Of what was sampled before the stop nothing is left behind; but a copy of ours that is just becoming a reader
	 * may hold the clock's events for a while, and go on sampling.
	 */
	t->drain_end_ns = monotonic_ns() + (t->sampler ? DRAIN_NS : DRAIN_LAST_NS);
	return ring_buffer__consume(t->ring);
}

static int on_kick(void *arg, void *data, size_t bytes)
{
	return 0;
}

/* Not more stacks of threads that wait than can be read: those of others next time. */
static bool tracer_takes(struct tracer *t, const struct trace_record *record)
{
	if (record->end != END_SLICE)
		return true;
	if (t->asleep_count++ % t->asleep_stride == t->asleep_pass % t->asleep_stride && t->asleep_taken < ASLEEP_MAX) {
		t->asleep_taken++;
		return true;
	}
	t->asleep_left_out++;
	return false;
}

/*
 * What all threads did since it was last asked for, and where those stand that wait just now: records like those in the
 * rings.
 */
static void tracer_account(struct tracer *t, bool discard)
{
	_cleanup_(closep) int fd = loader_accounts(t->loader);
	_Alignas(u64) char buffer[ACCOUNT_BYTES];
	size_t have = 0;
	ssize_t got;

	t->asleep_stride = t->asleep_count / ASLEEP_MAX + 1;
	t->asleep_pass++;
	t->asleep_count = 0;
	t->asleep_taken = 0;
	while (fd >= 0 && (got = read(fd, buffer + have, sizeof(buffer) - have)) > 0) {
		size_t at = 0;

		have += (size_t)got;
		while (have - at >= sizeof(struct trace_record)) {
			size_t bytes = record_bytes((const void *)(buffer + at));

			if (bytes > have - at)
				break;
			if (!discard && tracer_takes(t, (const void *)(buffer + at)))
				ingest_record(t->ingest, buffer + at, bytes);
			at += bytes;
		}
		memmove(buffer, buffer + at, have - at);
		have -= at;
	}
}

static int tracer_open_rings(struct tracer *t)
{
	struct epoll_event event = { .events = EPOLLIN };

	for (u32 i = 0; i < loader_ring_count(t->loader); i++) {
		int fd = loader_ring_fd(t->loader, i);

		if (!t->ring)
			t->ring = ring_buffer__new(fd, on_record, t, NULL);
		else if (ring_buffer__add(t->ring, fd, on_record, t))
			return -errno;
		if (!t->ring)
			return -errno;
	}
	for (u32 i = 0; loader_kick_fd(t->loader, i) >= 0; i++) {
		int fd = loader_kick_fd(t->loader, i);

		if (!t->kicks)
			t->kicks = ring_buffer__new(fd, on_kick, NULL, NULL);
		else if (ring_buffer__add(t->kicks, fd, on_kick, NULL))
			return -errno;
		if (!t->kicks)
			return -errno;
	}
	t->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	t->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (t->epoll_fd < 0 || t->wake_fd < 0 ||
	    epoll_ctl(t->epoll_fd, EPOLL_CTL_ADD, ring_buffer__epoll_fd(t->ring), &event) < 0 ||
	    epoll_ctl(t->epoll_fd, EPOLL_CTL_ADD, background_reader_fd(t->files), &event) < 0 ||
	    epoll_ctl(t->epoll_fd, EPOLL_CTL_ADD, t->wake_fd, &event) < 0)
		return -errno;
	return 0;
}

/* The shorter of two times to wait, of which the first may have no end. */
static int at_most(int timeout_ms, int limit_ms)
{
	return timeout_ms < 0 || timeout_ms > limit_ms ? limit_ms : timeout_ms;
}

static int learning_ms(u32 frequency_hz, u32 every)
{
	int half_period_ms = (int)(500 * every / frequency_hz);

	return half_period_ms < LEARNING_MS_MIN ? LEARNING_MS_MIN : at_most(half_period_ms, LEARNING_MS_MAX);
}

static int tracer_init(struct tracer *t, const struct tracer_options *options, struct buf *why)
{
	struct ingest_options ingest = {
		.cache_path = options->cache_path,
		.command_lines = options->command_lines,
		.without_requests = options->without_requests,
		.environment = options->environment,
		.process_age_min_ns = options->process_age_min_ns,
		.langs = ~options->langs_off,
		.lang_wishes = options->lang_wishes,
		.waiting_max_bytes = options->waiting_max_bytes,
		.lanes_max = options->lanes_max ? options->lanes_max : UINT64_MAX,
	};
	struct sampler_options sampler = { .frequency_hz = options->frequency_hz, .cpus = options->cpus };
	int r = options->thread_labels.count ? thread_labels_new(&options->thread_labels, &t->labels, why) : 0;

	if (r == 0)
		r = loader_open(options, t->reader, &t->loader, why);
	if (r < 0)
		return r;
	if (options->bpf_root && !options->without_requests)
		r = obi_map_init(&t->obi, options->bpf_root, loader_obi_threads_fd(t->loader));
	if (r == 0)
		r = sideband_new(&t->sideband);
	if (r == 0)
		r = peek_new(OFFLOAD_LIMIT_NS, &t->peek);
	if (r == 0)
		r = background_reader_new(&t->files);
	if (r == 0)
		r = containers_new(&options->containers, &t->containers, why);
	if (r < 0)
		return r;
	ingest.tables = loader_tables(t->loader);
	ingest.user_va_mask = loader_user_va_mask(t->loader);
	ingest.sideband = t->sideband;
	ingest.loader = t->loader;
	ingest.reader = t->files;
	ingest.peek = t->peek;
	ingest.containers = t->containers;
	ingest.labels = t->labels;
	ingest.period_ns = 1000000000ull / options->frequency_hz;
	for (u32 i = 0; i < options->kinds.count; i++)
		ingest.kinds |= 1u << options->kinds.at[i].number;
	r = ingest_new(&ingest, monotonic_ns(), &t->ingest);
	if (r == 0 && process_choice_is_given(&options->choice))
		r = process_choice_new(&options->choice, &t->choice, why);
	if (r < 0)
		return r;
	ingest_choose(t->ingest, t->choice);
	t->frequency_hz = options->frequency_hz;
	t->learning_ms = learning_ms(t->frequency_hz, 1);
	t->waiting_ms = WAITING_MS;
	sampler.event_count = loader_events(t->loader, sampler.events);
	sampler.sideband = t->sideband;
	r = sampler_new(&sampler, &t->sampler);
	return r < 0 ? r : tracer_open_rings(t);
}

int tracer_open(const struct tracer_options *options, struct reader *reader, struct tracer **ret_tracer,
		struct buf *why)
{
	_cleanup_(tracer_freep) struct tracer *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return -ENOMEM;
	t->epoll_fd = t->wake_fd = -1;
	t->reader = reader;
	r = tracer_init(t, options, why);
	if (r < 0) {
		if (!why->len)
			buf_addf(why, "cannot set up tracing: %s", strerror(-r));
		return r;
	}
	*ret_tracer = TAKE(t);
	return 0;
}

void tracer_free(struct tracer *t)
{
	if (!t)
		return;
	sampler_free(t->sampler);
	ring_buffer__free(t->ring);
	ring_buffer__free(t->kicks);
	background_reader_free(t->files);
	ingest_free(t->ingest);
	containers_free(t->containers);
	thread_labels_free(t->labels);
	peek_free(t->peek);
	sideband_free(t->sideband);
	obi_map_done(&t->obi);
	loader_free(t->loader);
	process_choice_free(t->choice);
	process_choice_free(atomic_load(&t->next_choice));
	closep(&t->epoll_fd);
	closep(&t->wake_fd);
	free(t);
}

void tracer_choose(struct tracer *t, struct process_choice *choice)
{
	/* None is a choice, too: an empty one. */
	process_choice_free(atomic_exchange(&t->next_choice, choice));
	tracer_wake(t);
}

/* What was chosen since. */
static void tracer_take_choice(struct tracer *t)
{
	struct process_choice *next = atomic_exchange(&t->next_choice, NULL);

	if (!next)
		return;
	ingest_choose(t->ingest, next);
	process_choice_free(t->choice);
	t->choice = next;
}

/*
 * A process is sampled by exactly one clock at any time: ticks are told apart before there is another clock, and until
 * there is none. Who is sampled by which is known a tick later; until then it is by the usual one.
 */
static int set_boosts(struct tracer *t, const struct boost_list *boosts)
{
	u32 rates_hz[BOOSTS_MAX];
	int r;

	_Static_assert(BOOSTS_MAX <= SAMPLER_CLOCKS_MAX, "a clock for each");
	t->boosts = *boosts;
	for (u32 i = 0; i < boosts->count; i++)
		rates_hz[i] = boosts->at[i].hz;
	ingest_boost(t->ingest, boosts->count ? &t->boosts : NULL);
	r = t->sampler ? sampler_set_clocks(t->sampler, rates_hz, boosts->count) : 0;
	if (r == 0)
		ingest_clocks(t->ingest, boosts->count);
	return r;
}

int tracer_boost(struct tracer *t, const struct boost_list *boosts)
{
	int r = set_boosts(t, boosts);

	if (r < 0)
		(void)set_boosts(t, &(struct boost_list){ 0 });	/* none needs no clocks */
	return r;
}

int tracer_start(struct tracer *t, struct buf *why)
{
	int r = loader_attach(t->loader, why);

	if (r < 0) {
		if (!why->len)
			buf_addf(why, "cannot follow processes: %s", strerror(-r));
		return r;
	}
	tracer_account(t, true);
	r = sampler_update_cpus(t->sampler);
	if (r < 0)
		buf_addf(why, "cannot sample a CPU: %s", strerror(-r));
	return r < 0 ? r : 0;
}

void tracer_pause(struct tracer *t, bool pause)
{
	_cleanup_(buf_done) struct buf why;

	buf_init(&why, 1024);
	if (!t->sampler)
		return;
	sampler_pause(t->sampler, pause);
	if (pause)
		tracer_account(t, false);
	(void)loader_pause(t->loader, pause, &why);	/* what cannot be had again now is missing, as in a pause */
	if (!pause)
		tracer_account(t, true);
}

void tracer_set_pace(struct tracer *t, const struct pace *pace, u32 rest_times)
{
	(void)loader_set_pace(t->loader, pace);	/* cannot fail: the map is there, and has one element */
	background_reader_rest(t->files, rest_times);
	ingest_set_pace(t->ingest, pace->every);
	t->rests = pace->frames_max == STACKS_NONE;
	t->learning_ms = learning_ms(t->frequency_hz, pace->every);
	t->waiting_ms = at_most((int)(WAITING_MS * pace->every), LEARNING_MS_MAX);
}

u64 tracer_kernel_ns(const struct tracer *t)
{
	return loader_run_ns(t->loader);
}

void tracer_note_cost(struct tracer *t, const struct tracer_cost *cost)
{
	t->cost = *cost;
}

void tracer_stop(struct tracer *t)
{
	tracer_account(t, false);
	(void)loader_pause(t->loader, true, NULL);
	sampler_free(t->sampler);
	t->sampler = NULL;
	ingest_stop(t->ingest);
}

/* Rarely needed work, by the time since it was last done. */
static void tracer_housekeeping(struct tracer *t, u64 now)
{
	if (t->sampler && now - t->cpus_ns > CPUS_NS) {
		t->cpus_ns = now;
		(void)sampler_update_cpus(t->sampler);	/* a CPU that cannot be had now is tried again */
	}
	if (now - t->obi_ns > OBI_NS) {
		t->obi_ns = now;
		obi_map_look(&t->obi);
	}
	if (now - t->swept_ns > SWEEP_NS) {
		t->swept_ns = now;
		ingest_sweep(t->ingest, now);
	}
}

/* How long there is nothing to do, unless something comes. */
static int tracer_idle_ms(const struct tracer *t, int timeout_ms)
{
	if (t->has_more)
		return 0;
	if (ingest_waits(t->ingest))
		return at_most(timeout_ms, t->waiting_ms);
	if (ingest_learns(t->ingest, monotonic_ns()))
		timeout_ms = at_most(timeout_ms, t->learning_ms);
	return ingest_waits_for_files(t->ingest) ? at_most(timeout_ms, FILES_MS) : timeout_ms;
}

static int tracer_turn(struct tracer *t, int timeout_ms)
{
	struct epoll_event events[3];
	u64 now, woken;
	int r = epoll_wait(t->epoll_fd, events, 3, tracer_idle_ms(t, timeout_ms));

	if (r < 0 && errno != EINTR)
		return -errno;
	(void)!read(t->wake_fd, &woken, sizeof(woken));
	now = monotonic_ns();
	r = tracer_drain(t);
	if (r < 0 && r != -EINTR)
		return r;
	if (t->kicks)
		(void)ring_buffer__consume(t->kicks);
	if (!t->rests || !t->sampler)
		sideband_read(t->sideband);
	/* When nothing is sampled any more nothing can arrive late either. */
	t->has_more = ingest_settle(t->ingest, t->sampler ? now - SETTLE_NS : now);
	tracer_housekeeping(t, now);
	return 0;
}

int tracer_poll(struct tracer *t, int timeout_ms)
{
	int r;

	tracer_take_choice(t);
	do
		r = tracer_turn(t, !t->sampler && ingest_waits_for_files(t->ingest) ? FILES_MS : timeout_ms);
	while (r == 0 && !t->sampler && (t->has_more || ingest_waits_for_files(t->ingest)));
	return r;
}

void tracer_wake(struct tracer *t)
{
	u64 one = 1;

	(void)!write(t->wake_fd, &one, sizeof(one));
}

/* From the one clock to the other. We may be interrupted between reading them: the quickest of a few tries counts. */
static s64 unix_offset_ns(void)
{
	u64 quickest = UINT64_MAX;
	s64 offset = 0;

	for (int i = 0; i < CLOCK_TRIES; i++) {
		u64 before = monotonic_ns(), unix_ns = clock_ns(CLOCK_REALTIME), took = monotonic_ns() - before;

		if (took >= quickest)
			continue;
		quickest = took;
		offset = (s64)(unix_ns - before - took / 2);
	}
	return offset;
}

/* What belongs to the window that ends is in it: threads that wait just now, too. */
static void tracer_close(struct tracer *t)
{
	u64 end_ns, began_ns;

	if (!t->sampler || !t->kicks)
		return;
	tracer_account(t, false);
	end_ns = monotonic_ns() + SETTLE_NS + 1;
	do {
		began_ns = monotonic_ns();
		(void)tracer_turn(t, 1);	/* what ends the tracer ends the next turn, too */
	} while (began_ns < end_ns || (t->has_more && began_ns < end_ns + CLOSE_NS_MAX));
}

struct window *tracer_take_window(struct tracer *t)
{
	struct window *w;

	tracer_close(t);
	w = ingest_take_window(t->ingest, monotonic_ns());
	if (w)
		w->unix_offset_ns = unix_offset_ns();
	return w;
}

_Static_assert(TRACER_READERS_MAX == BACKGROUND_READERS_MAX, "all of them");
void tracer_reader_pids(struct tracer *t, pid_t ret_pids[TRACER_READERS_MAX])
{
	background_reader_pids(t->files, ret_pids);
}

const char *tracer_event_name(const struct tracer *t)
{
	return loader_event_names(t->loader);
}

u64 tracer_sample_count(const struct tracer *t)
{
	return ingest_sample_count(t->ingest);
}

enum obi_state tracer_obi(const struct tracer *t)
{
	return (enum obi_state)atomic_load(&t->obi.state);
}

u64 tracer_first_sample_ns(const struct tracer *t)
{
	return t->first_sample_ns;
}

size_t tracer_counters(struct tracer *t, struct counter_value *ret_values, size_t count_max)
{
	struct counter_value values[COUNTER_VALUES_MAX];
	u64 kernel[COUNTER_COUNT], tracer[TRACER_COUNTER_COUNT];
	struct reader_stats reader = reader_stats(t->reader), files = background_reader_stats(t->files);
	struct peek_stats peek = peek_stats(t->peek);
	struct containers_stats containers = containers_stats(t->containers);
	const struct unread *unread;
	u32 count, unread_count;

	loader_counters(t->loader, 0, kernel);
	ingest_counters(t->ingest, tracer);
	tracer[TRACER_PEEKS] = peek.looks;
	tracer[TRACER_PEEKS_LATE] = peek.late;
	tracer[TRACER_PEEKS_REFUSED] = peek.refused;
	tracer[TRACER_READER_RESTARTS] = reader.restarts + files.restarts;
	tracer[TRACER_READER_TIMEOUTS] = reader.timeouts + files.timeouts;
	tracer[TRACER_READER_REFUSED] = reader.refused + files.refused;
	tracer[TRACER_ASLEEP_LEFT_OUT] = t->asleep_left_out;
	tracer[TRACER_OBI_MAPS] = t->obi.used;
	tracer[TRACER_OBI_MAPS_REFUSED] = t->obi.refused;
	part_counters_containers(&containers, tracer);
	tracer[TRACER_COST] = t->cost.used_ppm;
	tracer[TRACER_COST_MAX] = t->cost.limit_ppm;
	tracer[TRACER_GOVERNOR_STEP] = t->cost.step;
	count = counters_list(ingest_ends(t->ingest), kernel, tracer, values);
	for (u32 i = 1; i < loader_kind_count(t->loader); i++) {
		loader_counters(t->loader, i, kernel);
		count += counters_list_kind(loader_kind(t->loader, i)->name, kernel, values + count);
	}
	unread_count = ingest_unread(t->ingest, &unread);
	count += counters_list_unread(unread, unread_count, values + count);
	if (count > count_max)
		count = (u32)count_max;
	memcpy(ret_values, values, count * sizeof(*values));
	return count;
}
