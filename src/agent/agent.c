// SPDX-License-Identifier: Apache-2.0
#include "agent/agent.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "agent/build.h"
#include "agent/governor.h"
#include "agent/meter.h"
#include "agent/usage.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/deadline.h"
#include "base/lock.h"
#include "base/program_pages.h"
#include "base/thread.h"
#include "exe/reader.h"
#include "trace/window.h"

#define QUEUE_MAX 4		/* windows that wait to be named */
#define POLL_MS 200
#define TRACER_NICE (-10)
#define STATUS_NS 200000000ull
#define NAMES_REST_MAX 100	/* windows wait for them */
#define NAMES_REST_LAST 400	/* where the budget is used up: a hundredth of a CPU is all of it */
#define NAMES_PART 8		/* of the budget of a span, that names of one file may take once it is tight */
#define WANTED_NS 100000000ull	/* no window is shorter because somebody wants it */

struct agent {
	struct reader *reader;
	struct symbolizer *symbolizer;
	struct build_options build;
	u64 interval_ns, first_ns, draw_interval_ns;
	double jitter;
	u32 draw_percent;
	u64 (*wanted_ns)(void *arg);
	void *wanted_arg;
	u64 end_ns;		/* of the window that was returned last */
	struct meter *meter;

	/* The tracer's thread. */
	struct tracer *tracer;
	u64 taken_ns;		/* when the last window ended */
	struct usage supervisor, service;
	u64 own_ns;		/* CPU time of this process and of those that it started */
	struct governor governor;
	u64 govern_ns;		/* when it wants to know again what was used */
	struct boosts boosts;
	struct thread thread;
	atomic_bool stop;
	_Atomic u64 rounds;

	/* Between the two. */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct window *queue[QUEUE_MAX];
	struct meter_reading readings[QUEUE_MAX];	/* when they ended */
	u32 queue_count;
	bool ended;
	int error;
	struct boost_mail boost_mail;
	struct agent_status status;
	struct counter_value metered[METER_VALUES];
	u32 metered_count;
	pid_t self_pids[SELF_PIDS_MAX];	/* readers come and go */
	_Atomic pid_t companions[2];
	_Atomic bool spares_names;	/* see symbolizer_spare() */
};

const struct agent_options agent_defaults = {
	.tracer = { .frequency_hz = 20, .cache_path = AGENT_CACHE_PATH, .bpf_root = OBI_MAP_ROOT },
	.symbolizer = { .inlines = true, .cache_path = AGENT_CACHE_PATH "/debuginfod" },
	.interval_ms = 5000,
};

/* While the names of earlier windows are not done the present one goes on: what it holds is bounded by itself. */
static bool agent_has_room(struct agent *a)
{
	bool has_room;

	LOCKED(&a->lock);
	has_room = a->queue_count < QUEUE_MAX - 1;	/* the last place is for the last window */
	return has_room;
}

static void agent_push(struct agent *a, struct window *window)
{
	struct meter_reading reading;

	if (!window)
		return;
	meter_read(a->meter, &reading);
	LOCKED(&a->lock);
	assert(a->queue_count < QUEUE_MAX);
	a->readings[a->queue_count] = reading;
	a->queue[a->queue_count++] = window;
	pthread_cond_signal(&a->changed);
}

static void agent_publish(struct agent *a)
{
	struct counter_value values[COUNTER_VALUES_MAX];
	size_t count = tracer_counters(a->tracer, values, COUNTER_VALUES_MAX);
	pid_t pids[SELF_PIDS_MAX] = { getpid(), reader_pid(a->reader), atomic_load(&a->companions[0]),
				      atomic_load(&a->companions[1]) };

	_Static_assert(TRACER_READERS_MAX + 4 == SELF_PIDS_MAX, "room for each process of ours");
	tracer_reader_pids(a->tracer, pids + 4);
	LOCKED(&a->lock);
	a->status.samples = tracer_sample_count(a->tracer);
	a->status.first_sample_ns = tracer_first_sample_ns(a->tracer);
	a->status.counter_count = count;
	memcpy(a->status.counters, values, count * sizeof(*values));
	memcpy(a->self_pids, pids, sizeof(pids));
}

/* ---- What it costs ------------------------------------------------------------------------- */

static void set_pace(struct agent *a, enum governor_step step)
{
	const struct governor_lowered lowered = governor_lowered(step);
	u32 names_max = step == GOVERNOR_REST ? NAMES_REST_LAST : NAMES_REST_MAX;

	tracer_set_pace(a->tracer, &(struct pace){ lowered.every, lowered.frames_max }, lowered.rest_times);
	atomic_store(&a->spares_names, step >= GOVERNOR_NAMES);
	/* Whoever waits for a profile waits for names: slowly, but they come. */
	reader_set_rest(a->reader, lowered.rest_times < names_max ? lowered.rest_times : names_max);
}

static void note_boost(struct agent *a, const struct boost_event *event)
{
	LOCKED(&a->lock);
	boost_mail_tell(&a->boost_mail, event);
}

static void end_boosts(struct agent *a, enum boost_outcome outcome)
{
	struct boost_event event;
	bool had_some = a->boosts.list.count;

	while (a->boosts.list.count && boosts_stop(&a->boosts, a->boosts.list.at[0].id, outcome, &event))
		note_boost(a, &event);
	if (had_some)
		(void)tracer_boost(a->tracer, &a->boosts.list);	/* none needs no clocks */
}

static void take_boost(struct agent *a, const struct boost *asked, u64 now)
{
	struct boost_event event;

	if (!asked->hz && !asked->id) {
		end_boosts(a, BOOST_STOPPED);
		return;
	}
	if (!asked->hz && !boosts_stop(&a->boosts, asked->id, BOOST_STOPPED, &event))
		return;
	if (asked->hz)
		(void)boosts_start(&a->boosts, asked, a->build.frequency_hz,
				   governor_step(&a->governor) != GOVERNOR_ALL, now, &event);
	if (event.outcome == BOOST_RUNS && tracer_boost(a->tracer, &a->boosts.list) < 0)
		(void)boosts_stop(&a->boosts, asked->id, BOOST_NO_CLOCK, &event);
	note_boost(a, &event);
	/* Those that there were, or fewer. */
	if ((event.outcome == BOOST_NO_CLOCK || event.outcome == BOOST_STOPPED) &&
	    tracer_boost(a->tracer, &a->boosts.list) < 0)
		end_boosts(a, BOOST_NO_CLOCK);
}

/* What was asked for since, and what is over. */
static void agent_turn_boosts(struct agent *a, u64 now)
{
	struct boost asked[BOOST_MAIL_MAX];
	struct boost_event event;
	bool is_over = false;
	u32 count;

	pthread_mutex_lock(&a->lock);
	count = boost_mail_take(&a->boost_mail, asked);
	pthread_mutex_unlock(&a->lock);
	for (u32 i = 0; i < count; i++)
		take_boost(a, &asked[i], now);
	while (boosts_expire(&a->boosts, now, &event)) {
		note_boost(a, &event);
		is_over = true;
	}
	if (is_over)
		(void)tracer_boost(a->tracer, &a->boosts.list);
}

static void agent_govern(struct agent *a, u64 now)
{
	const pid_t supervisor = atomic_load(&a->companions[0]), service = atomic_load(&a->companions[1]);
	struct governor_note note = { .at_ns = now, .service_ns = usage_step(&a->service, &service, 1) };
	pid_t readers[1 + TRACER_READERS_MAX] = { reader_pid(a->reader) };

	tracer_reader_pids(a->tracer, readers + 1);
	note.own_ns = usage_family(readers, 1 + TRACER_READERS_MAX, &a->own_ns) +
		      usage_step(&a->supervisor, &supervisor, 1) + tracer_kernel_ns(a->tracer);
	if (governor_note(&a->governor, &note)) {
		if (governor_step(&a->governor) != GOVERNOR_ALL)
			end_boosts(a, BOOST_SPARED);
		set_pace(a, governor_step(&a->governor));
	}
	a->govern_ns = now + governor_due_ns(&a->governor);
	tracer_note_cost(a->tracer, &(struct tracer_cost){ (u64)(governor_used(&a->governor) * 1e6),
							    (u64)(a->governor.limit * 1e6),
							    governor_step(&a->governor) });
}

/* From 0 to just below 1. */
static double draw(void)
{
	u32 random = 0;

	(void)!getrandom(&random, sizeof(random), 0);	/* cannot fail for so few bytes */
	return random / 0x1p32;
}

/* When the window that begins now ends: machines that started together need not all send at once. */
static u64 window_end(const struct agent *a, u64 begin_ns)
{
	return begin_ns + (u64)((double)a->interval_ns * (1 + a->jitter * (2 * draw() - 1)));
}

/* Who waits for the first picture need not wait for a whole window. */
static u64 first_window_end(const struct agent *a, u64 end_ns)
{
	u64 sample_ns = a->first_ns ? tracer_first_sample_ns(a->tracer) : 0;

	return sample_ns && sample_ns + a->first_ns < end_ns ? sample_ns + a->first_ns : end_ns;
}

/* Nor need those who want it until then only; one that ended since is on its way to them. */
static u64 wanted_end(const struct agent *a, u64 end_ns)
{
	u64 wanted = a->wanted_ns ? a->wanted_ns(a->wanted_arg) : UINT64_MAX;

	if (wanted <= a->taken_ns)
		return end_ns;
	wanted = wanted < a->taken_ns + WANTED_NS ? a->taken_ns + WANTED_NS : wanted;
	return wanted < end_ns ? wanted : end_ns;
}

/* Not past the end of the window, nor past what the governor is to see. */
static int wait_ms(const struct agent *a, u64 until_ns)
{
	u64 now = monotonic_ns();

	until_ns = until_ns < a->govern_ns ? until_ns : a->govern_ns;
	until_ns = until_ns < boosts_due_ns(&a->boosts) ? until_ns : boosts_due_ns(&a->boosts);
	if (now >= until_ns)
		return 0;
	return until_ns - now > POLL_MS * 1000000ull ? POLL_MS : (int)((until_ns - now) / 1000000ull + 1);
}

/* Decides about the interval that begins now; when it ends. */
static u64 draw_interval(struct agent *a, u64 now)
{
	if (!a->draw_percent || a->draw_percent >= 100)
		return UINT64_MAX;
	tracer_pause(a->tracer, draw() * 100 >= a->draw_percent);
	return now + a->draw_interval_ns;
}

static void *agent_run(void *arg)
{
	struct agent *a = arg;
	u64 status_ns = 0, window_ns = window_end(a, monotonic_ns()), draw_ns = draw_interval(a, monotonic_ns());
	bool is_first = true, late;
	int r = 0;

	/* On a busy machine the buffers would fill while it waits for its turn. Without the privilege it waits. */
	(void)setpriority(PRIO_PROCESS, (id_t)gettid(), TRACER_NICE);
	while (r == 0 && !atomic_load(&a->stop)) {
		bool has_room = agent_has_room(a);
		u64 now;

		r = tracer_poll(a->tracer, wait_ms(a, has_room ? wanted_end(a, window_ns) : UINT64_MAX));
		now = monotonic_ns();
		atomic_fetch_add_explicit(&a->rounds, 1, memory_order_relaxed);
		if (now >= a->govern_ns)
			agent_govern(a, now);
		agent_turn_boosts(a, now);
		if (now - status_ns > STATUS_NS) {
			status_ns = now;
			agent_publish(a);
		}
		if (now >= draw_ns)
			draw_ns = draw_interval(a, now);
		if (is_first)
			window_ns = first_window_end(a, window_ns);
		if (has_room && now >= wanted_end(a, window_ns)) {
			/* From when it should have ended, unless that is long ago, or it ends before its time. */
			late = now >= window_ns && now - window_ns < a->interval_ns;
			window_ns = window_end(a, late ? window_ns : now);
			a->taken_ns = now;
			agent_push(a, tracer_take_window(a->tracer));
			is_first = false;
		}
	}
	tracer_stop(a->tracer);
	/* Whatever is in the buffers was taken before the stop; the second time settles what waited. */
	for (int i = 0; r == 0 && i < 2; i++)
		r = tracer_poll(a->tracer, 0);
	agent_push(a, tracer_take_window(a->tracer));
	agent_publish(a);
	LOCKED(&a->lock);
	a->ended = true;
	a->error = r;
	pthread_cond_signal(&a->changed);
	return NULL;
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

/* Without it there would be neither names nor unwind rows; better to hear of that at once, and once. */
static int check_reader(struct agent *a, struct buf *why)
{
	int r = reader_check(a->reader);

	if (r == -ENOSYS)
		buf_addf(why, "this kernel does not filter the system calls of the process that reads executables, "
			      "which any user can have made; " READER_UNFILTERED "=1 in the environment lets it run");
	else if (r < 0)
		buf_addf(why, "the process that reads executables does not start; `env -i %s --version` may tell why: "
			      "often a library that only LD_LIBRARY_PATH finds, install it where ldconfig looks",
			 program_invocation_name);
	return r;
}

static int agent_init(struct agent *a, const struct agent_options *options, struct buf *why)
{
	struct tracer_options tracer = options->tracer;
	int r = 0;

	if (!tracer.kinds.count)
		r = kind_choices_add(&tracer.kinds, "cpu", why);
	a->build.kinds = tracer.kinds;
	raise_file_limit();
	/* Without it rows are compiled anew each time; that is all. */
	if (tracer.cache_path)
		(void)mkdir(tracer.cache_path, 0700);
	if (r == 0)
		r = reader_start(0, &a->reader);
	if (r == 0)
		r = symbolizer_new(&options->symbolizer, a->reader, &a->symbolizer);
	a->meter = meter_new(AGENT_CGROUPS);
	if (r == 0 && !a->meter)
		r = -ENOMEM;
	if (r == 0)
		r = tracer_open(&tracer, a->reader, &a->tracer, why);
	if (r == 0)
		r = check_reader(a, why);
	if (r == 0)
		r = tracer_start(a->tracer, why);
	if (r < 0)
		return r;
	a->interval_ns = options->interval_ms * 1000000ull;
	a->jitter = options->jitter;
	a->first_ns = options->first_ms * 1000000ull;
	a->draw_interval_ns = options->draw_interval_ms * 1000000ull;
	a->draw_percent = options->draw_percent;
	a->wanted_ns = options->wanted_ns;
	a->wanted_arg = options->wanted_arg;
	a->build.frequency_hz = tracer.frequency_hz;
	governor_init(&a->governor, options->cpu_max, options->cpu_span_ns ? options->cpu_span_ns : GOVERNOR_SPAN_NS,
		      monotonic_ns());
	reader_set_resting_max(a->reader, (u64)(a->governor.limit * (double)a->governor.span_ns) / NAMES_PART);
	a->build.without_marks = options->without_marks;
	/* They were taken: their names fit. */
	for (u32 i = 0; i < tracer.thread_labels.count; i++)
		snprintf(a->build.labels[i], sizeof(a->build.labels[i]), "%s", tracer.thread_labels.at[i].name);
	if (options->says_host)
		host_identity_read("/", &a->build.host);
	a->status.event = tracer_event_name(a->tracer);
	program_pages_forget();
	return thread_start(&a->thread, "wick: tracer", agent_run, a);
}

int agent_start(const struct agent_options *options, struct agent **ret_agent, struct buf *why)
{
	_cleanup_(agent_freep) struct agent *a = calloc(1, sizeof(*a));
	int r;

	if (!a)
		return -ENOMEM;
	pthread_mutex_init(&a->lock, NULL);
	cond_init(&a->changed);
	r = agent_init(a, options, why);
	if (r < 0) {
		if (!why->len)
			buf_addf(why, "cannot start: %s", strerror(-r));
		return r;
	}
	*ret_agent = TAKE(a);
	return 0;
}

void agent_stop(struct agent *a)
{
	atomic_store(&a->stop, true);
	tracer_wake(a->tracer);
}

void agent_free(struct agent *a)
{
	if (!a)
		return;
	if (a->thread.is_started) {
		agent_stop(a);
		thread_join(&a->thread);
	}
	for (u32 i = 0; i < a->queue_count; i++)
		window_free(a->queue[i]);
	tracer_free(a->tracer);
	meter_free(a->meter);
	symbolizer_free(a->symbolizer);
	reader_free(a->reader);
	kind_choices_done(&a->build.kinds);
	pthread_cond_destroy(&a->changed);
	pthread_mutex_destroy(&a->lock);
	free(a);
}

/* The next window, NULL after the timeout; -ENODATA, or what ended the tracer. */
static int agent_pop(struct agent *a, int timeout_ms, struct window **ret_window, struct meter_reading *ret_reading)
{
	u64 deadline_ns = deadline_after((u64)timeout_ms * 1000000);
	int r = 0;

	LOCKED(&a->lock);
	while (!a->queue_count && !a->ended && r == 0)
		r = cond_wait_until(&a->changed, &a->lock, deadline_ns);
	r = 0;
	if (a->queue_count) {
		*ret_window = a->queue[0];
		*ret_reading = a->readings[0];
		memcpy(a->build.self_pids, a->self_pids, sizeof(a->self_pids));
		memmove(a->queue, a->queue + 1, --a->queue_count * sizeof(*a->queue));
		memmove(a->readings, a->readings + 1, a->queue_count * sizeof(*a->readings));
		r = 1;
	} else if (a->ended) {
		r = a->error ? a->error : -ENODATA;
	}
	return r;
}

static void agent_meter(struct agent *a, const struct window *window, const struct meter_reading *reading)
{
	meter_note(a->meter, window, reading, a->symbolizer, 1000000000 / a->build.frequency_hz);
	LOCKED(&a->lock);
	a->metered_count = meter_counters(a->meter, a->metered);
}

int agent_next(struct agent *a, int timeout_ms, struct profile **ret_profile)
{
	_cleanup_(window_freep) struct window *window = NULL;
	struct meter_reading reading;
	int r = agent_pop(a, timeout_ms, &window, &reading);

	if (r != 1)
		return r;
	assert(window);
	a->end_ns = window->end_ns;
	symbolizer_spare(a->symbolizer, atomic_load(&a->spares_names));
	r = build_profile(window, a->symbolizer, &a->build, ret_profile);
	if (r < 0)
		return r;
	agent_meter(a, window, &reading);
	return 1;
}

u64 agent_end_ns(const struct agent *a)
{
	return a->end_ns;
}

u64 agent_rounds(const struct agent *a)
{
	return atomic_load_explicit(&a->rounds, memory_order_relaxed);
}

void agent_note_companions(struct agent *a, pid_t supervisor, pid_t service)
{
	atomic_store(&a->companions[0], supervisor);
	atomic_store(&a->companions[1], service);
}

void agent_choose(struct agent *a, struct process_choice *choice)
{
	tracer_choose(a->tracer, choice);
}

/* hz 0: the end of it. */
static int ask_boost(struct agent *a, const struct boost *boost)
{
	int r;

	pthread_mutex_lock(&a->lock);
	r = boost_mail_ask(&a->boost_mail, boost);
	pthread_mutex_unlock(&a->lock);
	tracer_wake(a->tracer);
	return r;
}

int agent_boost(struct agent *a, const struct boost *boost)
{
	assert(boost->hz);
	return ask_boost(a, boost);
}

int agent_unboost(struct agent *a, u32 id)
{
	return ask_boost(a, &(struct boost){ .id = id });
}

u32 agent_boost_events(struct agent *a, struct boost_event ret_events[BOOST_EVENTS_MAX])
{
	LOCKED(&a->lock);
	return boost_mail_events(&a->boost_mail, ret_events);
}

size_t agent_counters(struct agent *a, struct counter_value *ret_values, size_t count_max)
{
	size_t count, more;

	LOCKED(&a->lock);
	count = a->status.counter_count < count_max ? a->status.counter_count : count_max;
	more = a->metered_count < count_max - count ? a->metered_count : count_max - count;
	memcpy(ret_values, a->status.counters, count * sizeof(*ret_values));
	memcpy(ret_values + count, a->metered, more * sizeof(*ret_values));
	return count + more;
}

u32 agent_completeness(struct agent *a, struct counter_value ret_values[METER_VALUES])
{
	LOCKED(&a->lock);
	memcpy(ret_values, a->metered, a->metered_count * sizeof(*ret_values));
	return a->metered_count;
}

enum obi_state agent_obi(const struct agent *a)
{
	return tracer_obi(a->tracer);
}

void agent_status(struct agent *a, struct agent_status *ret_status)
{
	pthread_mutex_lock(&a->lock);
	*ret_status = a->status;
	pthread_mutex_unlock(&a->lock);
	ret_status->symbols = symbolizer_stats(a->symbolizer);
	ret_status->kernel_problem = symbolizer_kernel_problem(a->symbolizer);
}
