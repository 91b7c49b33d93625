// SPDX-License-Identifier: Apache-2.0
/* The receiver `profiling`: this machine, sampled. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/thread.h"
#include "lang/lang.h"
#include "pipeline/arrivals.h"
#include "pipeline/batch.h"
#include "pipeline/component.h"
#include "pipeline/service.h"
#include "pipeline/taps.h"
#include "proc/pid_namespace.h"
#include "profile/profile.h"
#include "receivers/machine.h"
#include "receivers/profiling_options.h"
#include "receivers/receipts.h"

#define ROWS_BYTES (16u << 20)
#define SCALE_MAX 6
#define WAIT_MS 60000
#define FIRST_WINDOW_MS 300	/* who starts wick waits for the page */

struct receiver {
	const struct component_setup *setup;
	const struct profiling_config *options;
	struct receipts receipts;
	struct agent *agent;	/* the thread's, while it runs */
	struct machine *machine;	/* the thread's too */
	struct thread thread;
	char names[COUNTER_VALUES_MAX][96];	/* of the metrics: those of the counters with a prefix */
};

static void receiver_free(void *self)
{
	struct receiver *r = self;

	if (!r)
		return;
	machine_free(r->machine);
	free(r);
}

/* A scrape keeps the names until it is over. */
static void make_names(struct receiver *r, u32 kinds)
{
	static const u64 zeros[COUNTER_VALUES_MAX];
	struct counter_value values[COUNTER_VALUES_MAX];
	u32 count = counters_list(zeros, zeros, zeros, values);

	for (u32 i = 1; i < kinds; i++)
		count += counters_list_kind("", zeros, values + count);
	count += counters_list_unread((struct unread[UNREAD_MAX]){ 0 }, UNREAD_MAX, values + count);
	for (u32 i = 0; i < count; i++)
		snprintf(r->names[i], sizeof(r->names[i]), "wick_profiler_%s", values[i].name);
}

static int receiver_create(const struct component_setup *setup, const void *options, void **ret_self, struct buf *why)
{
	struct receiver *r = calloc(1, sizeof(*r));
	struct kind_choices kinds;

	if (!r)
		return -ENOMEM;
	r->setup = setup;
	r->options = options;
	r->machine = machine_new("/proc");
	if (!r->machine) {
		receiver_free(r);
		return -ENOMEM;
	}
	(void)profiling_kinds(options, &kinds, why);	/* checked with the other options */
	make_names(r, kinds.count);
	receipts_init(&r->receipts, service_metrics(setup->service), setup, "");
	*ret_self = r;
	return 0;
}

/* ---- Its thread: names frames, sends profiles on ---------------------------------- */

/* A window is told of like a request. */
static void describe(struct receiver *r, struct batch *batch, struct arrival *arrival)
{
	arrival->time_ns = clock_ns(CLOCK_REALTIME);
	arrival->kind = ARRIVAL_WINDOW;
	arrival->samples = batch_samples(batch);
	arrival->resources = batch_resources(batch);
	ARRIVAL_TEXT(arrival->component, r->setup->id);
}

static void receiver_send(struct receiver *r, struct profile *profile)
{
	struct batch *batch = batch_from_profile(profile);
	struct arrival arrival = { 0 };
	u64 samples;
	int result;

	if (!batch) {
		profile_free(profile);
		log_warn(r->setup->id, "out of memory: a profile is left out");
		return;
	}
	samples = batch_samples(batch);
	if (!samples) {
		batch_unref(batch);
		return;
	}
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

static void receiver_note_machine(struct receiver *r)
{
	int result = machine_note(r->machine);

	if (result < 0)
		log_warn(r->setup->id, "what the machine did in this window is not kept: %s", strerror(-result));
}

static void receiver_tell(struct receiver *r)
{
	struct counter_value values[COUNTER_VALUES_MAX];

	taps_tell(service_taps(r->setup->service), values, agent_counters(r->agent, values, COUNTER_VALUES_MAX));
}

static void *receiver_run(void *arg)
{
	struct receiver *r = arg;
	int result;

	receiver_note_machine(r);
	for (;;) {
		struct profile *profile = NULL;

		result = agent_next(r->agent, WAIT_MS, &profile);
		if (result == 1) {
			receiver_note_machine(r);
			receiver_tell(r);
			taps_offer(service_taps(r->setup->service), profile, agent_end_ns(r->agent));
			receiver_send(r, profile);
		}
		if (result == -ENOMEM || result == -E2BIG)
			log_warn(r->setup->id, "a profile is left out: %s", strerror(-result));
		else if (result < 0)
			break;
	}
	taps_leave(service_taps(r->setup->service));
	if (result != -ENODATA) {
		log_error(r->setup->id, "sampling has ended: %s", strerror(-result));
		component_report(r->setup->status, HEALTH_PERMANENT, "sampling has ended");
	}
	return NULL;
}

/* ---- Counters ---------------------------------------------------------------------- */

static void receiver_metrics(void *self, struct metrics_out *out)
{
	struct receiver *r = self;
	struct counter_value values[COUNTER_VALUES_MAX];
	size_t count = agent_counters(r->agent, values, COUNTER_VALUES_MAX);

	for (size_t i = 0; i < count; i++) {
		const struct metric_label labels[] = { { "receiver", r->setup->id },
						       { values[i].label, values[i].of } };

		/* What was done may be what there is now: the number of processes. What was lost only grows. */
		metrics_put(out, values[i].kind == COUNT_NEUTRAL ? METRIC_GAUGE : METRIC_COUNTER, r->names[i],
			    values[i].text, labels, values[i].of ? 2 : 1, (double)values[i].value);
	}
}

/* ---- Start and stop ------------------------------------------------------------------ */

static u64 wanted_ns(void *taps)
{
	return taps_wanted_ns(taps);
}

static struct agent_options agent_options_of(const struct profiling_config *o, struct taps *taps)
{
	s64 scale = o->map_scale_factor < SCALE_MAX ? o->map_scale_factor : SCALE_MAX;
	struct agent_options to = agent_defaults;

	to.first_ms = FIRST_WINDOW_MS;
	to.tracer.frequency_hz = (u32)o->samples_per_second;
	to.tracer.rows_max_bytes = (size_t)ROWS_BYTES << scale;
	to.tracer.no_kernel_version_check = o->no_kernel_version_check;
	to.tracer.environment = (struct environment_names){ o->include_env_vars.at, o->include_env_vars.count };
	to.tracer.process_age_min_ns = (u64)o->filter_min_process_age_ns;
	to.tracer.cpus = *o->pin_cpu_ids ? o->pin_cpu_ids : NULL;
	to.tracer.verifier_log_level = (u32)o->bpf_verifier_log_level;
	to.tracer.langs_off = profiling_langs_off(o);
	to.tracer.lang_wishes = lang_wishes(&o->langs);
	to.symbolizer.debuginfod_urls = getenv("DEBUGINFOD_URLS");
	to.interval_ms = (u32)(o->reporter_interval_ns / 1000000);
	to.jitter = o->reporter_jitter;
	to.draw_interval_ms = (u32)(o->probabilistic_interval_ns / 1000000);
	to.draw_percent = (u32)o->probabilistic_threshold;
	to.says_host = true;
	to.without_marks = !o->send_error_frames;
	to.wanted_ns = wanted_ns;
	to.wanted_arg = taps;
	return to;
}

static int start_thread(struct receiver *r)
{
	int result;

	taps_join(service_taps(r->setup->service), (u32)r->options->samples_per_second);
	result = thread_start(&r->thread, "wick: profiles", receiver_run, r);
	if (result < 0)
		taps_leave(service_taps(r->setup->service));
	return result;
}

static int begin(struct receiver *r, struct buf *why)
{
	struct agent_options options = agent_options_of(r->options, service_taps(r->setup->service));
	int result = profiling_kinds(r->options, &options.tracer.kinds, why);

	if (result < 0)
		return result;

	result = agent_start(&options, &r->agent, why);
	if (result < 0)
		return result;
	result = start_thread(r);
	if (result == 0)
		result = metrics_add_source(service_metrics(r->setup->service), receiver_metrics, r);
	return result;
}

static void receiver_stop(void *self, u64 deadline_ns)
{
	struct receiver *r = self;

	if (!r->agent)
		return;
	metrics_forget_source(service_metrics(r->setup->service), receiver_metrics, r);
	agent_stop(r->agent);
	thread_join(&r->thread);
	agent_free(TAKE(r->agent));
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
