// SPDX-License-Identifier: Apache-2.0
/*
 * Profiles into perf.data files, one for each interval, in a directory.
 *
 *	batch -> queue -> open span (merged) -> interval over, or full -> closed span -> file
 *
 *  - A span is in memory until its interval is over: kill -9 costs at most that. Full is HELD_BYTES_MAX of batches,
 *    TIMES_MAX samples, or what max_megabytes is estimated to hold; a batch that is larger has a span of its own.
 *  - If a file cannot be written its span stays, and is tried again every RETRY_NS; meanwhile the next span fills. When
 *    that is full too, batches wait in the queue, and are dropped there, counted. What no file can hold is dropped.
 *  - A thread watches the time, since batches may stop to come. The lock is held while a file is written.
 */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/deadline.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/thread.h"
#include "exporters/perfdir.h"
#include "pipeline/batch.h"
#include "pipeline/sender.h"
#include "pipeline/service.h"
#include "profile/merge.h"
#include "profile/profile.h"
#include "wire/perf/perfdata_encode.h"

#define MEGABYTE (1024 * 1024)
#define HELD_BYTES_MAX ((u64)BATCH_BYTES_MAX)
#define TIMES_MAX (2u << 20)
#define RETRY_NS (2 * SECOND_NS)

struct options {
	const char *path;
	s64 interval_ns, max_megabytes;
	struct {
		s64 max_files, max_age_ns, max_megabytes;
	} retention;
	bool local_time, embed_names;
	struct sender_options sender;
};

/* What becomes one file. */
struct span {
	struct merger *merger;		/* while it is open; else NULL */
	struct profile *profile;	/* when it is closed */
	u64 start_unix_ns, due_ns;
	u64 samples;			/* of the batches */
	u64 held, estimate, times;	/* what counts against its limits */
};

struct exporter {
	const struct component_setup *setup;
	const struct options *options;
	struct perfdir_options dir_options;
	struct perfdir *dir;
	struct utsname uts;
	struct perfdata_host host;
	struct metric *written, *failed, *removed, *cut, *lost;

	pthread_mutex_t lock;
	pthread_cond_t changed;		/* a span opened, or it ends */
	struct span open, closed;
	u64 retry_ns;			/* not before: the last file could not be written */
	int last_error;			/* of writing that; 0: it was */
	bool ends;
	struct thread thread;
};

static const struct options defaults = {
	.path = "/var/lib/wick/perf", .interval_ns = 60 * (s64)SECOND_NS, .max_megabytes = 100,
	.retention = { .max_age_ns = 24 * 3600 * (s64)SECOND_NS, .max_megabytes = 1024 },
	.sender = SENDER_DEFAULTS(0),
};

/* ---- Options ------------------------------------------------------------------------------- */

#define RETENTION(member) FIELD(struct options, retention.member)
static const struct config_field retention_fields[] = {
	{ "max_files", CONFIG_INTEGER, RETENTION(max_files), .min = 0, .max = 65536,
	  .help = "files that are kept; 0: any number" },
	{ "max_age", CONFIG_DURATION, RETENTION(max_age_ns), .min = 0, .max = 1e18,
	  .help = "what is older is removed; 0: nothing is too old" },
	{ "max_megabytes", CONFIG_INTEGER, RETENTION(max_megabytes), .min = 0, .max = 1e9,
	  .help = "of all files; past it the oldest go; 0: no limit" },
	{ 0 },
};

static const struct config_field fields[] = {
	{ "path", CONFIG_TEXT, FIELD(struct options, path), .required = true,
	  .help = "directory of the files, perf-YYYYMMDD-HHMMSS.data; made if need be" },
	{ "interval", CONFIG_DURATION, FIELD(struct options, interval_ns), .min = 1e9, .max = 86400e9,
	  .help = "what a file spans; it is there when that is over" },
	{ "max_megabytes", CONFIG_INTEGER, FIELD(struct options, max_megabytes), .min = 1, .max = 2048,
	  .help = "size at which the next file begins early, about" },
	{ "retention", CONFIG_SECTION, 0, .fields = retention_fields, .help = "which files are kept" },
	{ "localtime", CONFIG_BOOL, FIELD(struct options, local_time), .help = "name files by local time, not UTC" },
	{ "embed_names", CONFIG_BOOL, FIELD(struct options, embed_names),
	  .help = "names of all functions in the file, for other machines; perf annotate finds no code then" },
	SENDER_FIELDS(struct options, sender),
	{ 0 },
};

/* ---- Spans ----------------------------------------------------------------------------------- */

static void span_done(struct span *span)
{
	merger_free(span->merger);
	profile_free(span->profile);
	*span = (struct span){ 0 };
}

static bool span_is_empty(const struct span *span)
{
	return !span->merger && !span->profile;
}

struct need {
	u64 held, estimate, times;
};

static bool has_room(const struct exporter *exporter, const struct need *need)
{
	const struct span *open = &exporter->open;

	return !open->merger || (open->held + need->held <= HELD_BYTES_MAX && open->times + need->times <= TIMES_MAX &&
				 open->estimate + need->estimate <=
					 (u64)exporter->options->max_megabytes * MEGABYTE);
}

/* The wall clock names the file, the other one ends the interval: it does not step. */
static int open_span(struct exporter *exporter)
{
	struct span *open = &exporter->open;
	/* A span of its own may have more times than others. */
	int r = open->merger ? 0 : merger_new(MERGE_TIMES_MAX, &open->merger);

	if (r < 0 || open->samples)
		return r;
	open->start_unix_ns = clock_ns(CLOCK_REALTIME);
	open->due_ns = monotonic_ns() + (u64)exporter->options->interval_ns;
	pthread_cond_signal(&exporter->changed);
	return 0;
}

/* ---- Files ------------------------------------------------------------------------------------ */

static int write_file(struct exporter *exporter, struct perfdata_stats *ret_stats)
{
	const struct perfdata_options options = { .embed_names = exporter->options->embed_names,
						  .host = &exporter->host };
	char name[PERFDIR_NAME_MAX];
	int fd, r = perfdir_begin(exporter->dir, &fd);

	if (r < 0)
		return r;
	r = perfdata_write_file(exporter->closed.profile, &options, fd, ret_stats);
	if (r < 0) {
		perfdir_abort(exporter->dir);
		return r;
	}
	return perfdir_commit(exporter->dir, exporter->closed.start_unix_ns, name);
}

static void report(struct exporter *exporter, int r)
{
	char text[256];

	if (r < 0) {
		(void)snprintf(text, sizeof(text), "cannot write a file to %s: %s; trying again",
			       exporter->options->path, strerror(-r));
		component_report(exporter->setup->status, HEALTH_RECOVERABLE, text);
		metric_add(exporter->failed, 1);
	} else if (exporter->last_error) {
		component_report(exporter->setup->status, HEALTH_OK, "");
	}
	exporter->last_error = r;
}

/* What no file can hold would keep all that comes later from being written. */
static void drop_closed(struct exporter *exporter)
{
	log_error(exporter->setup->id, "dropped %llu samples: a perf.data file cannot hold them: they are of too many "
		  "sample types, or functions", (unsigned long long)exporter->closed.samples);
	metric_add(exporter->lost, exporter->closed.samples);
	span_done(&exporter->closed);
}

/* Closed spans become files; the lock is held. */
static int write_closed(struct exporter *exporter)
{
	struct perfdata_stats stats = { 0 };
	u64 before = perfdir_removed(exporter->dir);
	int r;

	if (!exporter->closed.profile)
		return 0;
	if (monotonic_ns() < exporter->retry_ns)
		return exporter->last_error;
	r = write_file(exporter, &stats);
	if (r == -E2BIG) {
		drop_closed(exporter);
		return 0;
	}
	report(exporter, r);
	if (r < 0) {
		exporter->retry_ns = monotonic_ns() + RETRY_NS;
		return r;
	}
	metric_add(exporter->written, 1);
	metric_add(exporter->cut, stats.stacks_cut);
	metric_add(exporter->removed, perfdir_removed(exporter->dir) - before);
	span_done(&exporter->closed);
	return 0;
}

/* Ends the open span and writes it, after one that waits. -errno: it, or that one, still waits. */
static int close_span(struct exporter *exporter)
{
	int r = write_closed(exporter);

	if (r < 0 || span_is_empty(&exporter->open))
		return r;
	exporter->closed = exporter->open;
	exporter->open = (struct span){ 0 };
	exporter->closed.profile = merger_finish(exporter->closed.merger);
	if (!exporter->closed.profile) {
		metric_add(exporter->lost, exporter->closed.samples);
		span_done(&exporter->closed);
		return -ENOMEM;
	}
	merger_free(TAKE(exporter->closed.merger));
	return write_closed(exporter);
}

/* ---- Batches ---------------------------------------------------------------------------------- */

static int add_to_span(struct exporter *exporter, const struct profile *profile, u64 samples, const struct need *need)
{
	struct span *open = &exporter->open;
	int r = open_span(exporter);

	if (r < 0)
		return r;
	r = merger_add(open->merger, profile);
	if (r < 0) {
		/* It takes no more, and may have taken a part: again would be twice. */
		(void)close_span(exporter);
		return -E2BIG;
	}
	open->samples += samples;
	open->held += need->held;
	open->estimate += need->estimate;
	open->times += need->times;
	return 0;
}

static int take_batch(struct exporter *exporter, struct batch *batch)
{
	const struct profile *profile;
	struct need need;
	int r = batch_profile(batch, &profile);

	if (r < 0)
		return r;
	need.held = batch_weight(batch);
	need.estimate = perfdata_estimate(profile, &need.times);
	LOCKED(&exporter->lock);
	if (!has_room(exporter, &need))
		r = close_span(exporter);
	/* The span that was closed may wait for room on the disk: the open one is empty then. */
	if (has_room(exporter, &need))
		r = add_to_span(exporter, profile, batch_samples(batch), &need);
	return r;
}

static void send_to_span(void *self, struct batch *batch, struct send_result *ret_result)
{
	struct exporter *exporter = self;
	int r = take_batch(exporter, batch);

	ret_result->outcome = r == 0 ? SEND_OK : r == -E2BIG || r == -EBADMSG ? SEND_PERMANENT : SEND_RETRY;
	if (r < 0)
		(void)snprintf(ret_result->reason, sizeof(ret_result->reason), "cannot write to %s: %s",
			       exporter->options->path, strerror(-r));
}

static const struct sender_ops sending = { .send = send_to_span };

/* ---- Time --------------------------------------------------------------------------------------- */

/* When there is something to do, UINT64_MAX if nothing waits. */
static u64 next_ns(const struct exporter *exporter)
{
	u64 due_ns = span_is_empty(&exporter->open) ? UINT64_MAX : exporter->open.due_ns;

	if (exporter->closed.profile)
		return exporter->retry_ns;
	return due_ns;
}

static void *watch_time(void *arg)
{
	struct exporter *exporter = arg;

	LOCKED(&exporter->lock);
	while (!exporter->ends) {
		u64 next = next_ns(exporter), now = monotonic_ns();

		if (now < next)
			(void)cond_wait_until(&exporter->changed, &exporter->lock, next);
		else if (!span_is_empty(&exporter->open) && now >= exporter->open.due_ns)
			(void)close_span(exporter);	/* reported; tried again */
		else
			(void)write_closed(exporter);
	}
	return NULL;
}

/* ---- Life --------------------------------------------------------------------------------------- */

static void end_thread(struct exporter *exporter)
{
	pthread_mutex_lock(&exporter->lock);
	exporter->ends = true;
	pthread_cond_signal(&exporter->changed);
	pthread_mutex_unlock(&exporter->lock);
	thread_join(&exporter->thread);
}

/* One that could not start was not stopped, but may have its thread. */
static void exporter_free(void *self)
{
	struct exporter *exporter = self;

	if (!exporter)
		return;
	end_thread(exporter);
	span_done(&exporter->open);
	span_done(&exporter->closed);
	perfdir_free(exporter->dir);
	pthread_cond_destroy(&exporter->changed);
	pthread_mutex_destroy(&exporter->lock);
	free(exporter);
}

static void make_counters(struct exporter *e)
{
	const struct metric_label label = { "exporter", e->setup->id };
	struct metrics *metrics = service_metrics(e->setup->service);

	e->written = metrics_get(metrics, METRIC_COUNTER, "wick_exporter_perfdata_files", "Files that were written",
				 &label, 1);
	e->failed = metrics_get(metrics, METRIC_COUNTER, "wick_exporter_perfdata_failures",
				"Times that a file could not be written", &label, 1);
	e->removed = metrics_get(metrics, METRIC_COUNTER, "wick_exporter_perfdata_removed",
				 "Files that were too old, or too much", &label, 1);
	e->cut = metrics_get(metrics, METRIC_COUNTER, "wick_exporter_perfdata_stacks_cut",
			     "Stacks that were too long for a record", &label, 1);
	e->lost = metrics_get(metrics, METRIC_COUNTER, "wick_exporter_perfdata_lost_samples",
			      "Samples of files that could not be written before wick ended, or at all", &label, 1);
}

static void describe_host(struct exporter *e)
{
	static const char *const command[] = { "wick", NULL };
	long present = sysconf(_SC_NPROCESSORS_CONF), online = sysconf(_SC_NPROCESSORS_ONLN);

	(void)uname(&e->uts);
	e->host = (struct perfdata_host){
		.name = e->uts.nodename, .release = e->uts.release, .machine = e->uts.machine,
		.command = command,
		.cpus_present = present > 0 ? (u32)present : 0, .cpus_online = online > 0 ? (u32)online : 0,
	};
}

static int exporter_create(const struct component_setup *setup, const void *options, void **ret_self, struct buf *why)
{
	struct exporter *e = calloc(1, sizeof(*e));
	const struct options *o = options;

	if (!e)
		return -ENOMEM;
	e->setup = setup;
	e->options = o;
	e->dir_options = (struct perfdir_options){
		.local_time = o->local_time, .max_files = (u64)o->retention.max_files,
		.max_age_ns = (u64)o->retention.max_age_ns, .max_bytes = (u64)o->retention.max_megabytes * MEGABYTE,
	};
	make_counters(e);
	describe_host(e);
	pthread_mutex_init(&e->lock, NULL);
	cond_init(&e->changed);
	*ret_self = e;
	return 0;
}

static int exporter_start(void *self, struct buf *why)
{
	struct exporter *exporter = self;
	int r = perfdir_open(exporter->options->path, &exporter->dir_options, &exporter->dir, why);

	if (r < 0)
		return r;
	r = thread_start(&exporter->thread, "wick: perfdata", watch_time, exporter);
	if (r < 0) {
		buf_addf(why, "cannot start a thread: %s", strerror(-r));
		return r;
	}
	return 0;
}

/* What is left is written at once, however short. */
static void write_last(struct exporter *exporter)
{
	int r;
	u64 lost;

	exporter->retry_ns = 0;
	r = close_span(exporter);
	lost = exporter->open.samples + exporter->closed.samples;
	metric_add(exporter->lost, lost);
	if (lost)
		log_warn(exporter->setup->id, "%llu samples are lost: cannot write a file to %s: %s",
			 (unsigned long long)lost, exporter->options->path, strerror(-r));
}

static void exporter_stop(void *self, u64 deadline_ns)
{
	struct exporter *exporter = self;

	end_thread(exporter);
	if (exporter->dir)
		write_last(exporter);
}

const struct component_ops exporter_perfdata = {
	.type = "perfdata",
	.help = "writes perf.data files, for perf report, perf script and perf annotate",
	.fields = fields,
	.options_bytes = sizeof(struct options),
	.defaults = &defaults,
	.create = exporter_create,
	.start = exporter_start,
	.looks = LOOKS_AT_PROFILE,
	EXPORTER_SENDS(sending, struct options, sender),
	.stop = exporter_stop,
	.free = exporter_free,
	.alone = true,
};
