// SPDX-License-Identifier: Apache-2.0
/* The receiver `profiling`: this machine, sampled by another process (halves/), whose windows are sent on here. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/governor.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/sender_time.h"
#include "base/thread.h"
#include "halves/remote.h"
#include "pipeline/arrivals.h"
#include "pipeline/batch.h"
#include "pipeline/boost_desk.h"
#include "pipeline/component.h"
#include "pipeline/service.h"
#include "pipeline/taps.h"
#include "proc/pid_namespace.h"
#include "receivers/machine.h"
#include "receivers/profiling_options.h"
#include "receivers/receipts.h"
#include "wire/otlp/otlp_check.h"

#define LOOK_MS 50		/* how long who wants a window at once may go unnoticed */
#define AGAIN_MS 1000		/* before a sampler that cannot start is asked for again */
#define DECODED_MAX ((size_t)512 << 20)
#define WHY_MAX 1024
#define SENDERS_PART 0.5	/* of the budget */

struct receiver {
	const struct component_setup *setup;
	const struct profiling_config *options;
	struct receipts receipts;
	struct remote *remote;	/* the thread's, while it runs */
	struct machine *machine;	/* the thread's too */
	struct thread thread;
	u64 step;		/* of the sampler's governor, as it was told last */
	bool turns_away;	/* senders, likewise */
};

static void receiver_free(void *self)
{
	struct receiver *r = self;

	if (!r)
		return;
	machine_free(r->machine);
	free(r);
}

static int receiver_create(const struct component_setup *setup, const void *options, void **ret_self, struct buf *why)
{
	struct receiver *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->setup = setup;
	r->options = options;
	r->machine = machine_new("/proc");
	if (!r->machine) {
		receiver_free(r);
		return -ENOMEM;
	}
	receipts_init(&r->receipts, service_metrics(setup->service), setup, "");
	*ret_self = r;
	return 0;
}

/* ---- Its thread: sends windows on ------------------------------------------------ */

/* A window is told of like a request. */
static void describe(struct receiver *r, struct batch *batch, struct arrival *arrival)
{
	arrival->time_ns = clock_ns(CLOCK_REALTIME);
	arrival->kind = ARRIVAL_WINDOW;
	arrival->samples = batch_samples(batch);
	arrival->resources = batch_resources(batch);
	ARRIVAL_TEXT(arrival->component, r->setup->id);
}

static void send_on(struct receiver *r, struct batch *batch)
{
	struct arrival arrival = { 0 };
	u64 samples = batch_samples(batch);
	int result;

	describe(r, batch, &arrival);
	result = receipts_send(&r->receipts, batch);
	arrival.level = result < 0 ? LOG_LEVEL_ERROR : LOG_LEVEL_INFO;
	ARRIVAL_TEXT(arrival.text, result < 0 ? strerror(-result) : "");
	arrivals_add(service_arrivals(r->setup->service), &arrival);
	if (result < 0)
		log_warn(r->setup->id, "a profile of %llu samples was not taken: %s", (unsigned long long)samples,
			 strerror(-result));
	else if (r->options->verbose_mode)
		log_info(r->setup->id, "sent a profile of %llu samples", (unsigned long long)samples);
}

/* The sampler is believed no more than a sender in the network. */
static int check_window(struct receiver *r, struct buf *otlp, struct batch **ret_batch)
{
	_cleanup_(buf_done) struct buf why;
	u64 samples = 0;
	int result;

	buf_init(&why, WHY_MAX);
	result = otlp_check(otlp->data, otlp->len, DECODED_MAX, &samples, &why);
	if (result != 0) {
		log_warn(r->setup->id, "a window of the sampler is left out: %s", why.len ? why.data : "it is none");
		return result < 0 ? result : -EBADMSG;
	}
	*ret_batch = batch_from_bytes(otlp, samples);
	return *ret_batch ? 0 : -ENOMEM;
}

/* Who wants a profile of now gets a copy. */
static void offer(struct receiver *r, struct batch *batch, u64 end_ns)
{
	struct taps *taps = service_taps(r->setup->service);
	const struct profile *profile = NULL;

	if (batch && taps_wanted_ns(taps) != UINT64_MAX && batch_profile(batch, &profile) < 0)
		log_warn(r->setup->id, "out of memory: a window is not in profiles of now");
	taps_offer(taps, profile, end_ns);
}

static void take_window(struct receiver *r, struct remote_window *window)
{
	struct batch *batch = NULL;
	int result = window->otlp.len ? check_window(r, &window->otlp, &batch) : 0;

	if (result == -ENOMEM)
		log_warn(r->setup->id, "out of memory: a profile is left out");
	offer(r, batch, window->end_ns);
	if (batch && batch_samples(batch))
		send_on(r, batch);
	else
		batch_unref(batch);
	buf_done(&window->otlp);
}

static void receiver_note_machine(struct receiver *r)
{
	int result = machine_note(r->machine);

	if (result < 0)
		log_warn(r->setup->id, "what the machine did in this window is not kept: %s", strerror(-result));
}

static u64 counter_named(const struct counter_value *values, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(values[i].name, name))
			return values[i].value;
	return 0;
}

/* What the sampler leaves out to stay within its budget, when that has changed. */
static void tell_step(struct receiver *r, const struct counter_value *values, size_t count)
{
	u64 step = counter_named(values, count, "governor_step");
	double percent = (double)counter_named(values, count, "cpu_used_ppm") / 1e4;
	double limit = (double)counter_named(values, count, "cpu_max_ppm") / 1e4;

	if (step > r->step)
		log_warn(r->setup->id, "wick has used %.2f %% of a CPU of late, and may use %.2f %%: %s", percent,
			 limit, governor_text(step));
	else if (step < r->step)
		log_info(r->setup->id, "wick has used %.2f %% of a CPU of late, there is room again: %s", percent,
			 governor_text(step));
	r->step = step;
}

/* The sampler knows the budget: half of it is for what this process does for senders, if they are to be limited. */
static void limit_senders(struct receiver *r, const struct counter_value *values, size_t count)
{
	const struct profiling_governor *governor = &r->options->governor;
	double cpus = (double)counter_named(values, count, "cpu_max_ppm") / 1e6 * SENDERS_PART;
	u64 now_ns = monotonic_ns();
	bool turns_away;

	if (!governor->senders)
		return;
	sender_time_set(r, &(struct sender_time_limit){ cpus, (u64)governor->average_over_ns }, now_ns);
	turns_away = sender_time_tell(now_ns).turns_away;
	if (turns_away && !r->turns_away)
		log_warn(r->setup->id, "work for those who send here has used more than the %.2f %% of a CPU that it "
			 "may: those who send most are told to come later (503). --max-cpu or governor::max_cpu gives "
			 "it room, governor::senders: false no limit", cpus * 100);
	else if (!turns_away && r->turns_away)
		log_info(r->setup->id, "whoever sends is served again");
	r->turns_away = turns_away;
}

static void receiver_tell(struct receiver *r)
{
	struct counter_value values[COUNTER_VALUES_MAX];
	size_t count = remote_counters(r->remote, values, COUNTER_VALUES_MAX);

	tell_step(r, values, count);
	boost_desk_set_tight(service_boosts(r->setup->service), r->step > GOVERNOR_ALL);
	limit_senders(r, values, count);
	taps_tell(service_taps(r->setup->service), values, count);
}

/* Another one is there when this returns, unless it is to stop. */
static void find_again(struct receiver *r)
{
	_cleanup_(buf_done) struct buf why;
	int result;

	buf_init(&why, WHY_MAX);
	log_warn(r->setup->id, "the sampler is gone; the next one is waited for");
	boost_desk_gone(service_boosts(r->setup->service));
	component_report(r->setup->status, HEALTH_RECOVERABLE, "the sampler is gone");
	while ((result = remote_reconnect(r->remote, &why)) < 0 && result != -ECANCELED) {
		log_error(r->setup->id, "sampling cannot start again: %s", why.len ? why.data : strerror(-result));
		why.len = 0;
		if (remote_pause(r->remote, AGAIN_MS))
			return;
	}
	if (result == 0) {
		log_info(r->setup->id, "sampling again");
		component_report(r->setup->status, HEALTH_OK, "");
	}
}

/* ---- Boosts: asked for by other threads, answered by the sampler ------------------ */

static int send_boost(void *arg, const struct boost *boost)
{
	struct receiver *r = arg;

	return remote_boost(r->remote, boost);
}

static void take_boosted(void *arg, const struct boost_event *event)
{
	struct receiver *r = arg;

	boost_desk_note(service_boosts(r->setup->service), event);
}

static void *receiver_run(void *arg)
{
	struct receiver *r = arg;
	struct taps *taps = service_taps(r->setup->service);
	int result = 0;

	receiver_note_machine(r);
	while (result != -ENODATA) {
		struct remote_window window;

		remote_want(r->remote, taps_wanted_ns(taps));
		result = remote_next(r->remote, LOOK_MS, &window);
		if (result == 1) {
			receiver_note_machine(r);
			receiver_tell(r);
			take_window(r, &window);
		} else if (result == -ENOMEM) {
			log_warn(r->setup->id, "a profile is left out: %s", strerror(-result));
		} else if (result < 0 && result != -ENODATA) {
			find_again(r);
		}
	}
	boost_desk_leave(service_boosts(r->setup->service), r);
	taps_leave(taps);
	return NULL;
}

/* ---- Counters ---------------------------------------------------------------------- */

static void senders_metrics(const struct receiver *r, struct metrics_out *out)
{
	struct sender_time_told told = sender_time_tell(monotonic_ns());
	const struct metric_label label = { "receiver", r->setup->id };

	metrics_put(out, METRIC_COUNTER, "wick_senders_cpu_seconds_total",
		    "CPU time of work for senders, where the governor limits it", &label, 1,
		    (double)told.used_ns / 1e9);
	metrics_put(out, METRIC_COUNTER, "wick_senders_turned_away_total",
		    "Requests that were told to come later, to save CPU time", &label, 1, (double)told.turned_away);
}

static void receiver_metrics(void *self, struct metrics_out *out)
{
	struct receiver *r = self;
	struct counter_value values[COUNTER_VALUES_MAX];
	size_t count = remote_counters(r->remote, values, COUNTER_VALUES_MAX);

	if (r->options->governor.senders)
		senders_metrics(r, out);
	for (size_t i = 0; i < count; i++) {
		const struct metric_label labels[] = { { "receiver", r->setup->id },
						       { values[i].label, values[i].of } };

		/* What was done may be what there is now: the number of processes. What was lost only grows. */
		metrics_put(out, values[i].kind == COUNT_NEUTRAL ? METRIC_GAUGE : METRIC_COUNTER,
			    remote_metric_name(&values[i]), values[i].text, labels, values[i].of ? 2 : 1,
			    (double)values[i].value);
	}
}

/* ---- Start and stop ------------------------------------------------------------------ */

static int start_thread(struct receiver *r)
{
	int result;

	taps_join(service_taps(r->setup->service), (u32)r->options->samples_per_second);
	remote_on_boosted(r->remote, take_boosted, r);
	boost_desk_join(service_boosts(r->setup->service), (u32)r->options->samples_per_second, send_boost, r);
	result = thread_start(&r->thread, "wick: profiles", receiver_run, r);
	if (result < 0) {
		boost_desk_leave(service_boosts(r->setup->service), r);
		taps_leave(service_taps(r->setup->service));
	}
	return result;
}

static int begin(struct receiver *r, struct buf *why)
{
	int result = remote_open(service_control(r->setup->service), r->setup->id, &r->remote, why);

	if (result == 0)
		result = start_thread(r);
	if (result == 0)
		result = metrics_add_source(service_metrics(r->setup->service), receiver_metrics, r);
	return result;
}

static void receiver_stop(void *self, u64 deadline_ns)
{
	struct receiver *r = self;

	if (!r->remote)
		return;
	metrics_forget_source(service_metrics(r->setup->service), receiver_metrics, r);
	remote_stop(r->remote, deadline_ns);
	thread_join(&r->thread);
	sender_time_set(r, &(struct sender_time_limit){ 0 }, monotonic_ns());
	remote_free(TAKE(r->remote));
}

static int receiver_start(void *self, struct buf *why)
{
	struct receiver *r = self;
	int result = begin(r, why);

	if (result == 0) {
		log_info(r->setup->id, "sampling %lld times a second", (long long)r->options->samples_per_second);
		if (pid_namespace())
			log_warn(r->setup->id, PID_NAMESPACE_PARTIAL);
		component_report(r->setup->status, HEALTH_OK, "");
		return 0;
	}
	receiver_stop(r, 0);
	if (r->options->error_mode != PROFILING_IGNORE)
		return result;
	component_report(r->setup->status, HEALTH_PERMANENT, why->len ? why->data : strerror(-result));
	return 0;
}

const struct component_ops receiver_profiling = {
	.type = "profiling",
	.help = "this machine, sampled by BPF: every process, all the time",
	.fields = profiling_fields,
	.options_bytes = sizeof(struct profiling_config),
	.defaults = &profiling_defaults,
	.check = profiling_config_check,
	.create = receiver_create,
	.start = receiver_start,
	.stop = receiver_stop,
	.free = receiver_free,
};
