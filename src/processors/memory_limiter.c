// SPDX-License-Identifier: Apache-2.0
/*
 * memory_limiter: refuses what comes while this process has taken too much
 * memory, so that senders keep it and try again.
 *
 *	0 ........ soft limit (limit - spike limit) ........ limit
 *	take it    refuse                                    refuse, give memory back at each check
 *
 *  - Measured is anonymous resident memory, each check_interval. Between two measurements the ledger counts
 *    (base/budget.h): what a sender would make this process take is refused before it is decoded, if it and what the
 *    process holds besides come to more than four fifths of the limit.
 *  - Above the limits freed memory is given back to the system (malloc_trim()), which
 *    is what the Collector forces its garbage collection for; the intervals of that are the ones of the configuration.
 */
#include <errno.h>
#include <malloc.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/budget.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "pipeline/batch.h"
#include "pipeline/service.h"
#include "pipeline/ticker.h"
#include "proc/memory.h"

#define MIB (1ull << 20)
#define SECOND 1000000000ll

struct options {
	s64 check_interval_ns;
	s64 limit_mib, spike_limit_mib;
	s64 limit_percentage, spike_limit_percentage;
	s64 min_soft_ns, min_hard_ns, max_soft_ns, max_hard_ns;
};

struct limiter {
	const struct component_setup *setup;
	const struct options *options;
	u64 soft_bytes, hard_bytes;
	struct metric *accepted, *refused;
	_Atomic bool refuses;
	_Atomic u64 next_check_ns;

	/* Of the thread that checks: only one at a time gets to. */
	_Atomic bool is_checking;
	u64 last_trim_ns;
	s64 trim_interval_ns;
	struct ticker *ticker;
};

/* Whether giving memory back is due; then by how much less there is. */
static void trim(struct limiter *l, u64 now, u64 *bytes)
{
	bool is_hard = *bytes > l->hard_bytes;
	s64 least = is_hard ? l->options->min_hard_ns : l->options->min_soft_ns;
	s64 most = is_hard ? l->options->max_hard_ns : l->options->max_soft_ns;
	s64 interval = l->trim_interval_ns < least ? least : l->trim_interval_ns;
	u64 before = *bytes;

	if (now - l->last_trim_ns < (u64)interval)
		return;
	(void)malloc_trim(0);
	l->last_trim_ns = now;
	(void)memory_taken("", bytes);
	/* When that brings little, doing it often only costs. */
	if (*bytes > before - before / 20)
		l->trim_interval_ns = interval * 2 + l->options->check_interval_ns;
	else
		l->trim_interval_ns = 0;
	if (l->trim_interval_ns > most)
		l->trim_interval_ns = most;
}

static void check(struct limiter *l, u64 now)
{
	bool refused = atomic_load(&l->refuses), refuses;
	u64 bytes, held;

	if (memory_taken("", &bytes) < 0)
		return;
	if (bytes > l->soft_bytes)
		trim(l, now, &bytes);
	refuses = bytes > l->soft_bytes;
	held = budget_total();
	budget_lower(l->hard_bytes, bytes > held ? bytes - held : 0);
	atomic_store(&l->refuses, refuses);
	if (refuses && !refused)
		log_warn(l->setup->id, "memory usage is above soft limit, data is refused: %llu MiB of %llu",
			 bytes / MIB, l->soft_bytes / MIB);
	else if (!refuses && refused)
		log_info(l->setup->id, "memory usage back within limits, data is taken again: %llu MiB of %llu",
			 bytes / MIB, l->soft_bytes / MIB);
}

static void check_if_due(struct limiter *l)
{
	u64 now = monotonic_ns();

	if (now < atomic_load_explicit(&l->next_check_ns, memory_order_relaxed) ||
	    atomic_exchange_explicit(&l->is_checking, true, memory_order_acquire))
		return;
	check(l, now);
	atomic_store_explicit(&l->next_check_ns, now + (u64)l->options->check_interval_ns, memory_order_relaxed);
	atomic_store_explicit(&l->is_checking, false, memory_order_release);
}

static int limiter_consume(void *self, struct batch *batch)
{
	struct limiter *l = self;
	u64 samples = batch_samples(batch);

	check_if_due(l);
	if (atomic_load_explicit(&l->refuses, memory_order_relaxed)) {
		metric_add(l->refused, samples);
		batch_unref(batch);
		return -EAGAIN;
	}
	metric_add(l->accepted, samples);
	return consumers_send(l->setup->next, batch);
}

static void tick(void *arg)
{
	check_if_due(arg);
}

/* ---- Life --------------------------------------------------------------------------- */

static int find_limits(struct limiter *l, struct buf *why)
{
	const struct options *o = l->options;
	u64 spike_bytes, total;
	int r;

	l->hard_bytes = (u64)o->limit_mib * MIB;
	spike_bytes = (u64)o->spike_limit_mib * MIB;
	if (!o->limit_mib) {
		r = memory_allowed("", &total);
		if (r < 0) {
			buf_addf(why, "cannot tell how much memory there is: %s; give limit_mib", strerror(-r));
			return r;
		}
		l->hard_bytes = total / 100 * (u64)o->limit_percentage;
		spike_bytes = total / 100 * (u64)o->spike_limit_percentage;
	}
	if (!spike_bytes)
		spike_bytes = l->hard_bytes / 5;
	l->soft_bytes = l->hard_bytes - spike_bytes;
	return 0;
}

static int limiter_create(const struct component_setup *setup, const void *options, void **ret_self, struct buf *why)
{
	const struct metric_label label = { "processor", setup->id };
	struct metrics *metrics = service_metrics(setup->service);
	_cleanup_(freep) struct limiter *l = calloc(1, sizeof(*l));
	int r;

	if (!l)
		return -ENOMEM;
	l->setup = setup;
	l->options = options;
	r = find_limits(l, why);
	if (r < 0)
		return r;
	l->accepted = metrics_get(metrics, METRIC_COUNTER, "otelcol_processor_memory_limiter_accepted_profile_samples",
				  "Samples that the memory limiter let pass", &label, 1);
	l->refused = metrics_get(metrics, METRIC_COUNTER, "otelcol_processor_memory_limiter_refused_profile_samples",
				 "Samples that the memory limiter refused", &label, 1);
	log_info(setup->id, "refuses data above %llu MiB (limit %llu MiB)", l->soft_bytes / MIB, l->hard_bytes / MIB);
	*ret_self = TAKE(l);
	return 0;
}

static int limiter_start(void *self, struct buf *why)
{
	struct limiter *l = self;
	int r = ticker_start(&(struct ticker_options){ .name = "wick: memory", .tick = tick, .arg = l,
						       .interval_ns = l->options->check_interval_ns }, &l->ticker);

	if (r < 0)
		buf_addf(why, "cannot start the thread that measures memory: %s", strerror(-r));
	return r;
}

static void limiter_stop(void *self, u64 deadline_ns)
{
	struct limiter *l = self;

	(void)deadline_ns;
	ticker_stop(TAKE(l->ticker));
	budget_lower(0, 0);
}

static void limiter_free(void *self)
{
	free(self);
}

/* ---- Options ------------------------------------------------------------------------ */

static const struct options defaults = {
	.min_soft_ns = 10 * SECOND,
	.max_soft_ns = 30 * SECOND,
	.max_hard_ns = 30 * SECOND,
};

#define OF(member) FIELD(struct options, member)
static const struct config_field fields[] = {
	{ "check_interval", CONFIG_DURATION, OF(check_interval_ns), .required = true, .min = 1, .max = INFINITY,
	  .help = "how often memory is measured; 1s is good" },
	{ "limit_mib", CONFIG_INTEGER, OF(limit_mib), .min = 0, .max = 1e9,
	  .help = "memory that should not be exceeded, in MiB" },
	{ "spike_limit_mib", CONFIG_INTEGER, OF(spike_limit_mib), .min = 0, .max = 1e9,
	  .help = "what may be added between two checks; data is refused above the limit less this; 0: a fifth of it" },
	{ "limit_percentage", CONFIG_INTEGER, OF(limit_percentage), .min = 0, .max = 100,
	  .help = "the same as a part of all memory, or of what the control group allows; limit_mib goes before it" },
	{ "spike_limit_percentage", CONFIG_INTEGER, OF(spike_limit_percentage), .min = 0, .max = 100,
	  .help = "likewise, with limit_percentage" },
	{ "min_gc_interval_when_soft_limited", CONFIG_DURATION, OF(min_soft_ns), .min = 0, .max = INFINITY,
	  .help = "least time between two attempts to give freed memory back, above the soft limit" },
	{ "min_gc_interval_when_hard_limited", CONFIG_DURATION, OF(min_hard_ns), .min = 0, .max = INFINITY,
	  .help = "likewise, above the limit" },
	{ "max_gc_interval_when_soft_limited", CONFIG_DURATION, OF(max_soft_ns), .min = 0, .max = INFINITY,
	  .help = "most time between two attempts, when they bring little" },
	{ "max_gc_interval_when_hard_limited", CONFIG_DURATION, OF(max_hard_ns), .min = 0, .max = INFINITY,
	  .help = "likewise, above the limit" },
	{ 0 },
};

static void limiter_check(const void *options, struct config_place place, const char *path,
			  struct config_errors *errors)
{
	const struct options *o = options;

	if (!o->limit_mib && !o->limit_percentage)
		config_error(errors, place, path, "'limit_mib' or 'limit_percentage' must be greater than zero");
	if (o->limit_mib && o->spike_limit_mib >= o->limit_mib)
		config_error(errors, place, path, "'spike_limit_mib' must be smaller than 'limit_mib'");
	if (!o->limit_mib && o->limit_percentage && o->spike_limit_percentage >= o->limit_percentage)
		config_error(errors, place, path, "'spike_limit_percentage' must be smaller than 'limit_percentage'");
	if (o->min_soft_ns < o->min_hard_ns)
		config_error(errors, place, path, "'min_gc_interval_when_soft_limited' should be larger than "
			     "'min_gc_interval_when_hard_limited'");
}

const struct component_ops processor_memory_limiter = {
	.type = "memory_limiter",
	.help = "refuses data while wick itself takes too much memory",
	.fields = fields,
	.options_bytes = sizeof(struct options),
	.defaults = &defaults,
	.check = limiter_check,
	.create = limiter_create,
	.start = limiter_start,
	.stop = limiter_stop,
	.looks = LOOKS_AT_NOTHING,
	.consume = limiter_consume,
	.free = limiter_free,
};
