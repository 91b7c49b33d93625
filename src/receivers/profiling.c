// SPDX-License-Identifier: Apache-2.0
#include "receivers/profiling.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <time.h>

#include "base/buf.h"
#include "base/clock.h"
#include "exe/reader.h"
#include "profile/build.h"
#include "trace/window.h"

#define QUEUE_MAX 4		/* windows that wait to be named */
#define POLL_MS 200
#define TRACER_NICE (-10)
#define STATUS_NS 200000000ull

struct profiling {
	struct reader *reader;
	struct symbolizer *symbolizer;
	struct build_options build;
	u64 interval_ns, first_ns, draw_interval_ns;
	double jitter;
	u32 draw_percent;
	u64 (*wanted_ns)(void *arg);
	void *wanted_arg;
	u64 end_ns;		/* of the window that was returned last */

	/* The tracer's thread. */
	struct tracer *tracer;
	u64 taken_ns;		/* when the last window ended */
	pthread_t thread;
	bool has_thread;
	atomic_bool stop;

	/* Between the two. */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct window *queue[QUEUE_MAX];
	u32 queue_count;
	bool ended;
	int error;
	struct profiling_status status;
};

/* While the names of earlier windows are not done the present one goes on: what it holds is bounded by itself. */
static bool profiling_has_room(struct profiling *p)
{
	bool has_room;

	pthread_mutex_lock(&p->lock);
	has_room = p->queue_count < QUEUE_MAX - 1;	/* the last place is for the last window */
	pthread_mutex_unlock(&p->lock);
	return has_room;
}

static void profiling_push(struct profiling *p, struct window *window)
{
	if (!window)
		return;
	pthread_mutex_lock(&p->lock);
	assert(p->queue_count < QUEUE_MAX);
	p->queue[p->queue_count++] = window;
	pthread_cond_signal(&p->changed);
	pthread_mutex_unlock(&p->lock);
}

static void profiling_publish(struct profiling *p)
{
	struct counter_value values[COUNTER_VALUES_MAX];
	size_t count = tracer_counters(p->tracer, values, COUNTER_VALUES_MAX);

	pthread_mutex_lock(&p->lock);
	p->status.samples = tracer_sample_count(p->tracer);
	p->status.first_sample_ns = tracer_first_sample_ns(p->tracer);
	p->status.counter_count = count;
	memcpy(p->status.counters, values, count * sizeof(*values));
	pthread_mutex_unlock(&p->lock);
}

/* From 0 to just below 1. */
static double draw(void)
{
	u32 random = 0;

	(void)!getrandom(&random, sizeof(random), 0);	/* cannot fail for so few bytes */
	return random / 0x1p32;
}

/* When the window that begins now ends: machines that started together need not all send at once. */
static u64 window_end(const struct profiling *p, u64 begin_ns)
{
	return begin_ns + (u64)((double)p->interval_ns * (1 + p->jitter * (2 * draw() - 1)));
}

/* Who waits for the first picture need not wait for a whole window. */
static u64 first_window_end(const struct profiling *p, u64 end_ns)
{
	u64 sample_ns = p->first_ns ? tracer_first_sample_ns(p->tracer) : 0;

	return sample_ns && sample_ns + p->first_ns < end_ns ? sample_ns + p->first_ns : end_ns;
}

/* Nor need those who want it until then only; one that ended since is on its way to them. */
static u64 wanted_end(const struct profiling *p, u64 end_ns)
{
	u64 wanted = p->wanted_ns ? p->wanted_ns(p->wanted_arg) : UINT64_MAX;

	return wanted < end_ns && wanted > p->taken_ns ? wanted : end_ns;
}

/* Not past the end of the window. */
static int wait_ms(u64 until_ns)
{
	u64 now = monotonic_ns();

	if (now >= until_ns)
		return 0;
	return until_ns - now > POLL_MS * 1000000ull ? POLL_MS : (int)((until_ns - now) / 1000000ull + 1);
}

/* Decides about the interval that begins now; when it ends. */
static u64 draw_interval(struct profiling *p, u64 now)
{
	if (!p->draw_percent || p->draw_percent >= 100)
		return UINT64_MAX;
	tracer_pause(p->tracer, draw() * 100 >= p->draw_percent);
	return now + p->draw_interval_ns;
}

static void *profiling_run(void *arg)
{
	struct profiling *p = arg;
	u64 status_ns = 0, window_ns = window_end(p, monotonic_ns()), draw_ns = draw_interval(p, monotonic_ns());
	bool is_first = true, late;
	int r = 0;

	(void)prctl(PR_SET_NAME, "wick: tracer");
	/* On a busy machine the buffers would fill while it waits for its turn. Without the privilege it waits. */
	(void)setpriority(PRIO_PROCESS, (id_t)gettid(), TRACER_NICE);
	while (r == 0 && !atomic_load(&p->stop)) {
		bool has_room = profiling_has_room(p);
		u64 now;

		r = tracer_poll(p->tracer, has_room ? wait_ms(wanted_end(p, window_ns)) : POLL_MS);
		now = monotonic_ns();
		if (now - status_ns > STATUS_NS) {
			status_ns = now;
			profiling_publish(p);
		}
		if (now >= draw_ns)
			draw_ns = draw_interval(p, now);
		if (is_first)
			window_ns = first_window_end(p, window_ns);
		if (has_room && now >= wanted_end(p, window_ns)) {
			/* From when it should have ended, unless that is long ago, or it ends before its time. */
			late = now >= window_ns && now - window_ns < p->interval_ns;
			window_ns = window_end(p, late ? window_ns : now);
			p->taken_ns = now;
			profiling_push(p, tracer_take_window(p->tracer));
			is_first = false;
		}
	}
	tracer_stop(p->tracer);
	/* Whatever is in the buffers was taken before the stop; the second time settles what waited. */
	for (int i = 0; r == 0 && i < 2; i++)
		r = tracer_poll(p->tracer, 0);
	profiling_push(p, tracer_take_window(p->tracer));
	profiling_publish(p);
	pthread_mutex_lock(&p->lock);
	p->ended = true;
	p->error = r;
	pthread_cond_signal(&p->changed);
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

/* Signals are for the thread that owns us. */
static int profiling_start_thread(struct profiling *p)
{
	sigset_t all, before;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(&p->thread, NULL, profiling_run, p);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	p->has_thread = r == 0;
	return -r;
}

/* Each executable and library stays open as long as its names are needed: more than the usual 1024 on a large host. */
static void raise_file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur == limit.rlim_max)
		return;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);	/* files past the limit are counted as unreadable */
}

static int profiling_init(struct profiling *p, const struct profiling_options *options, struct buf *why)
{
	int r;

	raise_file_limit();
	r = reader_start(&p->reader);
	if (r == 0)
		r = symbolizer_new(&options->symbolizer, p->reader, &p->symbolizer);
	if (r == 0)
		r = tracer_open(&options->tracer, p->reader, &p->tracer, why);
	if (r == 0)
		r = tracer_start(p->tracer, why);
	if (r < 0)
		return r;
	p->interval_ns = (options->interval_ms ? options->interval_ms : PROFILING_INTERVAL_MS) * 1000000ull;
	p->jitter = options->jitter;
	p->first_ns = options->first_ms * 1000000ull;
	p->draw_interval_ns = options->draw_interval_ms * 1000000ull;
	p->draw_percent = options->draw_percent;
	p->wanted_ns = options->wanted_ns;
	p->wanted_arg = options->wanted_arg;
	p->build.frequency_hz = options->tracer.frequency_hz;
	p->build.without_marks = options->without_marks;
	p->build.self_pids[0] = getpid();
	p->build.self_pids[1] = reader_pid(p->reader);
	p->status.event = tracer_event_name(p->tracer);
	return profiling_start_thread(p);
}

int profiling_start(const struct profiling_options *options, struct profiling **ret_profiling, struct buf *why)
{
	_cleanup_(profiling_freep) struct profiling *p = calloc(1, sizeof(*p));
	pthread_condattr_t attributes;
	int r;

	if (!p)
		return -ENOMEM;
	pthread_mutex_init(&p->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&p->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	r = profiling_init(p, options, why);
	if (r < 0) {
		if (!why->len)
			buf_addf(why, "cannot start: %s", strerror(-r));
		return r;
	}
	*ret_profiling = TAKE(p);
	return 0;
}

void profiling_stop(struct profiling *p)
{
	atomic_store(&p->stop, true);
	tracer_wake(p->tracer);
}

void profiling_free(struct profiling *p)
{
	if (!p)
		return;
	if (p->has_thread) {
		profiling_stop(p);
		pthread_join(p->thread, NULL);
	}
	for (u32 i = 0; i < p->queue_count; i++)
		window_free(p->queue[i]);
	tracer_free(p->tracer);
	symbolizer_free(p->symbolizer);
	reader_free(p->reader);
	pthread_cond_destroy(&p->changed);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

/* The next window, NULL after the timeout; -ENODATA, or what ended the tracer. */
static int profiling_pop(struct profiling *p, int timeout_ms, struct window **ret_window)
{
	u64 until = monotonic_ns() + (u64)timeout_ms * 1000000ull;
	struct timespec deadline = { (time_t)(until / 1000000000ull), (long)(until % 1000000000ull) };
	int r = 0;

	pthread_mutex_lock(&p->lock);
	while (!p->queue_count && !p->ended && r == 0)
		r = pthread_cond_timedwait(&p->changed, &p->lock, &deadline);
	r = 0;
	if (p->queue_count) {
		*ret_window = p->queue[0];
		memmove(p->queue, p->queue + 1, --p->queue_count * sizeof(*p->queue));
		r = 1;
	} else if (p->ended) {
		r = p->error ? p->error : -ENODATA;
	}
	pthread_mutex_unlock(&p->lock);
	return r;
}

int profiling_next(struct profiling *p, int timeout_ms, struct profile **ret_profile)
{
	_cleanup_(window_freep) struct window *window = NULL;
	int r = profiling_pop(p, timeout_ms, &window);

	if (r != 1)
		return r;
	p->end_ns = window->end_ns;
	r = profile_build(window, p->symbolizer, &p->build, ret_profile);
	return r < 0 ? r : 1;
}

u64 profiling_end_ns(const struct profiling *p)
{
	return p->end_ns;
}

size_t profiling_counters(struct profiling *p, struct counter_value *ret_values, size_t count_max)
{
	size_t count;

	pthread_mutex_lock(&p->lock);
	count = p->status.counter_count < count_max ? p->status.counter_count : count_max;
	memcpy(ret_values, p->status.counters, count * sizeof(*ret_values));
	pthread_mutex_unlock(&p->lock);
	return count;
}

void profiling_status(struct profiling *p, struct profiling_status *ret_status)
{
	pthread_mutex_lock(&p->lock);
	*ret_status = p->status;
	pthread_mutex_unlock(&p->lock);
	ret_status->symbols = symbolizer_stats(p->symbolizer);
	ret_status->kernel_problem = symbolizer_kernel_problem(p->symbolizer);
}
