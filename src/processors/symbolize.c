// SPDX-License-Identifier: Apache-2.0
/*
 * symbolize: names for native frames that arrive without, from files of this
 * machine or from debuginfod, by build id. What OpenTelemetry's profiler sends
 * has none: its backends are expected to know all binaries.
 *
 *  - Names may take seconds: a thread of its own gives them, batch after batch, in the order they came.
 *  - Bounded: queue_size batches and queue_mib wait; what comes past that is sent on at once without names, counted,
 *    ahead of what waits.
 *  - Foreign files are read by the reader process (exe/reader.h).
 */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/thread.h"
#include "exe/reader.h"
#include "naming/binary_finder.h"
#include "naming/debuginfod_options.h"
#include "naming/frame_names.h"
#include "pipeline/batch.h"
#include "pipeline/component.h"
#include "processors/edit.h"
#include "profile/profile.h"
#include "symbol/symbolizer.h"

#define QUEUE_MAX 4096
#define LINES_US 20000000

struct options {
	struct debuginfod_options debuginfod;
	struct config_texts roots, directories, debug_directories;
	bool local_processes, inlined_functions;
	s64 max_frames, queue_size, queue_mib, memory_mib;
};

struct symbolize {
	const struct component_setup *setup;
	const struct options *options;
	struct finder_options finder_options;
	struct buf urls;

	/* Of the thread, once it runs. */
	struct reader *reader;
	struct symbolizer *symbolizer;
	struct binary_finder *finder;

	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct batch *queue[QUEUE_MAX];
	size_t weights[QUEUE_MAX];
	u32 first, count;
	size_t bytes;
	bool ends;
	u64 deadline_ns;		/* good once it ends */

	struct thread thread;
	struct metric *named, *unnamed, *left, *passed, *found, *missed;
};

/* ---- Naming ----------------------------------------------------------------------------------- */

static int change(void *arg, struct profile *profile)
{
	struct symbolize *s = arg;
	struct frame_names_stats stats = { 0 };
	struct frame_names_options options = { .max = (u32)s->options->max_frames };
	struct finder_stats before = binary_finder_stats(s->finder), after;
	int r = frame_names_add(profile, s->finder, s->symbolizer, &options, &stats);

	after = binary_finder_stats(s->finder);
	metric_add(s->named, stats.named);
	metric_add(s->unnamed, stats.unnamed);
	metric_add(s->left, stats.left);
	metric_add(s->found, after.found - before.found);
	metric_add(s->missed, after.missed - before.missed);
	return r;
}

static bool needs_names(struct batch *batch)
{
	const struct profile *profile;

	if (batch_profile(batch, &profile) < 0)
		return false;
	for (u32 i = 1; i < profile->locations.count; i++)
		if (!profile->locations.at[i].line_count && profile->locations.at[i].mapping)
			return true;
	return false;
}

static void pass_on(struct symbolize *s, struct batch *batch, bool with_names)
{
	u64 samples = batch_samples(batch);
	int r = with_names && needs_names(batch) ? processor_edit(s->setup, batch, change, s) :
						   consumers_send(s->setup->next, batch);

	if (r < 0)
		log_warn(s->setup->id, "%llu samples are lost: %s", (unsigned long long)samples, strerror(-r));
}

/* ---- The queue ---------------------------------------------------------------------------------- */

/* The next batch, NULL once there is none and it ends. ret_late: past the deadline, there is no time for names. */
static struct batch *next_batch(struct symbolize *s, bool *ret_late)
{
	struct batch *batch = NULL;

	LOCKED(&s->lock);
	while (!s->count && !s->ends)
		pthread_cond_wait(&s->changed, &s->lock);
	if (s->count) {
		batch = s->queue[s->first];
		s->bytes -= s->weights[s->first];
		s->first = (s->first + 1) % QUEUE_MAX;
		s->count--;
	}
	*ret_late = s->ends && monotonic_ns() >= s->deadline_ns;
	return batch;
}

static void *give_names(void *arg)
{
	struct symbolize *s = arg;
	struct batch *batch;
	bool late;

	while ((batch = next_batch(s, &late)))
		pass_on(s, batch, !late);
	return NULL;
}

static int symbolize_consume(void *self, struct batch *batch)
{
	struct symbolize *s = self;
	size_t weight = batch_weight(batch);
	bool fits;

	pthread_mutex_lock(&s->lock);
	fits = !s->ends && s->count < s->options->queue_size && s->count < QUEUE_MAX &&
	       (!s->count || s->bytes + weight <= (size_t)s->options->queue_mib << 20);
	if (fits) {
		u32 at = (s->first + s->count++) % QUEUE_MAX;

		s->queue[at] = batch;
		s->weights[at] = weight;
		s->bytes += weight;
		pthread_cond_signal(&s->changed);
	}
	pthread_mutex_unlock(&s->lock);
	if (fits)
		return 0;
	metric_add(s->passed, batch_samples(batch));
	return consumers_send(s->setup->next, batch);
}

/* ---- Life ------------------------------------------------------------------------------------------ */

static void symbolize_free(void *self)
{
	struct symbolize *s = self;

	if (!s)
		return;
	while (s->count) {
		batch_unref(s->queue[s->first]);
		s->first = (s->first + 1) % QUEUE_MAX;
		s->count--;
	}
	symbolizer_free(s->symbolizer);
	binary_finder_free(s->finder);
	reader_free(s->reader);
	buf_done(&s->urls);
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

static void make_counters(struct symbolize *s)
{
	s->named = processor_counter(s->setup, "wick_processor_symbolize_named_frames", "Frames that got a name");
	s->unnamed = processor_counter(s->setup, "wick_processor_symbolize_unnamed_frames",
				       "Frames whose file is nowhere, or has no name for them");
	s->left = processor_counter(s->setup, "wick_processor_symbolize_left_frames",
				    "Frames past the maximum of a batch");
	s->passed = processor_counter(s->setup, "wick_processor_symbolize_passed_samples",
				      "Samples sent on without names because too much was waiting");
	s->found = processor_counter(s->setup, "wick_processor_symbolize_found_files", "Files that were found");
	s->missed = processor_counter(s->setup, "wick_processor_symbolize_missed_files", "Files that are nowhere");
}

static int symbolize_create(const struct component_setup *setup, const void *options, void **ret_self,
			    struct buf *why)
{
	struct symbolize *s = calloc(1, sizeof(*s));
	const struct options *o = options;

	if (!s)
		return -ENOMEM;
	s->setup = setup;
	s->options = o;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->changed, NULL);
	buf_init(&s->urls, 65536);
	if (debuginfod_options_urls(&o->debuginfod, &s->urls) < 0) {
		symbolize_free(s);
		return -ENOMEM;
	}
	make_counters(s);
	*ret_self = s;
	return 0;
}

static int symbolize_start(void *self, struct buf *why)
{
	struct symbolize *s = self;
	const struct options *o = s->options;
	struct symbolizer_options names = {
		.inlines = o->inlined_functions, .debuginfod_urls = s->urls.data,
		.cache_path = o->debuginfod.cache_directory, .memory_max_bytes = (size_t)o->memory_mib << 20,
		.lines_us = LINES_US,
	};
	int r = reader_start(0, &s->reader);

	s->finder_options = (struct finder_options){
		.roots = o->roots, .directories = o->directories, .debug_directories = o->debug_directories,
		.processes = o->local_processes, .debuginfod_urls = s->urls.data,
		.cache_path = o->debuginfod.cache_directory,
	};
	if (r == 0)
		r = symbolizer_new(&names, s->reader, &s->symbolizer);
	if (r == 0)
		r = binary_finder_new(&s->finder_options, s->reader, &s->finder);
	if (r == 0)
		r = thread_start(&s->thread, "wick: names", give_names, s);
	if (r < 0)
		buf_addf(why, "names cannot be looked up: %s", strerror(-r));
	return r;
}

/* What waits gets its names until the deadline, and is sent on without after that. */
static void symbolize_stop(void *self, u64 deadline_ns)
{
	struct symbolize *s = self;

	pthread_mutex_lock(&s->lock);
	s->ends = true;
	s->deadline_ns = deadline_ns;
	pthread_cond_signal(&s->changed);
	pthread_mutex_unlock(&s->lock);
	thread_join(&s->thread);
}

/* ---- Options ----------------------------------------------------------------------------------------- */

static const char *const default_roots[] = { "/" };
static const char *const default_directories[] = { "/usr/bin", "/usr/sbin", "/usr/lib", "/usr/libexec",
						   "/usr/local", "/opt" };
static const char *const default_debug_directories[] = { "/usr/lib/debug/.build-id" };

static const struct options defaults = {
	.debuginfod = DEBUGINFOD_DEFAULTS,
	.roots = { 1, default_roots },
	.directories = { 6, default_directories },
	.debug_directories = { 1, default_debug_directories },
	.local_processes = true,
	.inlined_functions = true,
	.max_frames = 100000,
	.queue_size = 16,
	.queue_mib = 64,
	.memory_mib = 32,
};

static const struct config_field fields[] = {
	{ "debuginfod", CONFIG_SECTION, FIELD(struct options, debuginfod), .fields = debuginfod_fields,
	  .help = "debug files over HTTP" },
	{ "roots", CONFIG_TEXTS, FIELD(struct options, roots),
	  .help = "root directories below which the paths that profiles have are looked for" },
	{ "directories", CONFIG_TEXTS, FIELD(struct options, directories),
	  .help = "directories with programs and libraries, looked through once, for profiles that have only names" },
	{ "debug_directories", CONFIG_TEXTS, FIELD(struct options, debug_directories),
	  .help = "directories of debug files by build id" },
	{ "local_processes", CONFIG_BOOL, FIELD(struct options, local_processes),
	  .help = "look at the files of processes with the profile's process ids, in their containers too" },
	{ "inlined_functions", CONFIG_BOOL, FIELD(struct options, inlined_functions),
	  .help = "read DWARF for inlined functions and lines" },
	{ "max_frames", CONFIG_INTEGER, FIELD(struct options, max_frames), .min = 1, .max = 131072,
	  .help = "distinct frames of one batch that get names" },
	{ "queue_size", CONFIG_INTEGER, FIELD(struct options, queue_size), .min = 1, .max = QUEUE_MAX,
	  .help = "batches that may wait; what comes past that is sent on without names" },
	{ "queue_mib", CONFIG_INTEGER, FIELD(struct options, queue_mib), .min = 1, .max = 65536,
	  .help = "and how much memory they may take" },
	{ "memory_mib", CONFIG_INTEGER, FIELD(struct options, memory_mib), .min = 1, .max = 65536,
	  .help = "memory for names that are known already" },
	{ 0 },
};

const struct component_ops processor_symbolize = {
	.type = "symbolize",
	.help = "names native frames that have none, from local files and debuginfod",
	.fields = fields,
	.options_bytes = sizeof(struct options),
	.defaults = &defaults,
	.create = symbolize_create,
	.start = symbolize_start,
	.looks = LOOKS_AT_PROFILE,
	.consume = symbolize_consume,
	.stop = symbolize_stop,
	.free = symbolize_free,
};
