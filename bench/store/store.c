// SPDX-License-Identifier: Apache-2.0
/*
 * Hours of a big machine in minutes: a made-up load (load.h) goes into a store at full speed, in simulated time; then
 * questions are asked as the page asks them. Prints a table of what is promised, what was measured, whether it holds.
 *
 *	store [--hours N] [--cores N] [--stacks N] [--window SECONDS] [--max-mib N] [--tenants N] [--steady] [--tap]
 *
 * --tenants: samples have a label of so many values. --steady: all CPUs are always busy; else the load follows the time
 * of day. --tap: checks what does not depend on the speed of the machine, as a test.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <malloc.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "load.h"
#include "profile/profile.h"
#include "profile/table.h"
#include "store/store.h"
#include "web/api.h"
#include "wire/compression.h"

#define HOUR_NS (3600 * SECOND_NS)
#define START_NS (20000 * 24 * HOUR_NS) /* midnight of a day in 2024 */
#define MEMORY_MAX ((u64)1 << 30)	/* with a million distinct stacks */
#define HZ 20
#define PROCESSES 300
#define ROUNDS 5
#define TEND_STEPS 16 /* as the exporter does after each batch */

struct run {
	u32 hours, cores, stacks, window_s, max_mib, tenants;
	bool steady, tap;
	char directory[64];
	struct load *load;
	struct store *store;
	u64 add_ns, tend_ns, step_max_ns; /* of CPU time */
	u64 rss_start, rss_half, rss_end; /* half: after half of the time */
	double merge_ns;		  /* of one sample, by hash: what answers are compared with */
	u64 failures;
};

static u64 cpu_ns(void)
{
	return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

static u64 rss_bytes(void)
{
	unsigned long long pages = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	(void)malloc_trim(0);
	if (f) {
		if (fscanf(f, "%*s %llu", &pages) != 1)
			pages = 0;
		(void)fclose(f);
	}
	return pages * (u64)sysconf(_SC_PAGESIZE);
}

/* ---- The table --------------------------------------------------------------------------------- */

static void check(struct run *run, bool holds, const char *what)
{
	run->failures += !holds;
	if (run->tap)
		printf("%sok - %s\n", holds ? "" : "not ", what);
}

/* limit: 0 if nothing is promised. beside: what something else needs for the same, as a text. */
static void row(struct run *run, const char *what, double value, double limit, const char *unit, const char *beside)
{
	char target[32] = "", number[32];

	if (limit)
		(void)snprintf(target, sizeof(target), "<= %.4g %s", limit, unit);
	(void)snprintf(number, sizeof(number), "%.3g %s", value, unit);
	printf("%s| %-58s | %-12s | %-12s | %-7s | %s\n", run->tap ? "# " : "", what, number, target,
	       !limit	      ? "" :
	       value <= limit ? "met" :
				"NOT MET",
	       beside);
}

/* ---- Hours ----------------------------------------------------------------------------------------- */

static int add_window(struct run *run)
{
	_cleanup_(profile_freep) struct profile *profile = load_window(run->load, run->window_s * SECOND_NS);
	u64 now_ns = load_time_ns(run->load), before, after;
	int r = profile ? 0 : -ENOMEM;

	before = cpu_ns();
	if (r == 0)
		r = store_add(run->store, profile, 0, now_ns);
	after = cpu_ns();
	run->add_ns += after - before;
	for (u32 i = 0; i < TEND_STEPS && r == 0; i++) {
		before = after;
		r = store_maintain(run->store, now_ns);
		after = cpu_ns();
		run->tend_ns += after - before;
		run->step_max_ns = after - before > run->step_max_ns ? after - before : run->step_max_ns;
		if (r == 0)
			break;
		r = r > 0 ? 0 : r;
	}
	if (r < 0)
		fprintf(stderr, "store: %s (%s)\n", strerror(-r), store_error(run->store));
	return r;
}

static void tell_hour(struct run *run, u32 hour)
{
	struct store_stats s;

	store_stats(run->store, &s);
	run->rss_end = rss_bytes() - run->rss_start;
	if (hour <= (run->hours + 1) / 2)
		run->rss_half = run->rss_end;
	fprintf(stderr,
		"hour %3u: %" PRIu64
		" k samples, %u MiB in use (%u %u %u %u), %u MiB of memory, %u k nodes, %u k series\n",
		hour, (uint64_t)load_samples(run->load) / 1000, (u32)(s.bytes >> 20), (u32)(s.levels[0].bytes >> 20),
		(u32)(s.levels[1].bytes >> 20), (u32)(s.levels[2].bytes >> 20), (u32)(s.levels[3].bytes >> 20),
		(u32)(run->rss_end >> 20), (u32)(s.nodes / 1000), (u32)(s.series / 1000));
}

static int pass_hours(struct run *run)
{
	u64 next_ns = START_NS + HOUR_NS;
	int r = 0;

	while (load_time_ns(run->load) < START_NS + run->hours * HOUR_NS && r == 0) {
		r = add_window(run);
		if (load_time_ns(run->load) < next_ns)
			continue;
		tell_hour(run, (u32)((next_ns - START_NS) / HOUR_NS));
		next_ns += HOUR_NS;
	}
	return r;
}

/* ---- What it is compared with ---------------------------------------------------------------------------- */

struct edge {
	u32 parent, location;
};

static u64 edge_hash(const void *row, u64 seed)
{
	const struct edge *e = row;

	return hash_mix(seed, (u64)e->parent << 32 | e->location);
}

static bool edge_equal(const void *a, const void *b)
{
	return !memcmp(a, b, sizeof(struct edge));
}

static void merge_stack(struct table *tree, struct indices locations)
{
	s64 node = 0;

	for (u32 i = locations.count; i-- > 0 && node >= 0;)
		node = table_add(tree, &(struct edge){ (u32)node, locations.at[i] });
}

/* A tree from samples that are in memory, frame by frame: what a profiler does that keeps them as they came. */
static int measure_merge(struct run *run)
{
	static const struct table_type type = { sizeof(struct edge), edge_hash, edge_equal, NULL };
	_cleanup_(profile_freep) struct profile *profile = load_window(run->load, 60 * SECOND_NS);
	u64 before, samples = 0;
	struct table tree;

	if (!profile)
		return -ENOMEM;
	table_init(&tree, &type, NULL, 0, 64 << 20);
	before = cpu_ns();
	(void)table_add(&tree, &(struct edge){ 0 });
	for (u32 i = 0; i < profile->resources.count; i++) {
		const struct profile_set *set = &profile->resources.at[i].scopes[0].sets[0];

		for (u32 n = 0; n < set->sample_count; n++)
			merge_stack(&tree, profile->stacks.at[set->samples[n].stack]);
		samples += set->sample_count;
	}
	run->merge_ns = samples ? (double)(cpu_ns() - before) / (double)samples : 0;
	table_done(&tree);
	return 0;
}

/* ---- Questions ---------------------------------------------------------------------------------------- */

/* CPU time of the fastest of some rounds: what the machine's other work adds is not the store's. */
static u64 ask(struct run *run, const char *name, u64 from_ns, u64 to_ns, const char *more, struct buf *body)
{
	struct api_answer answer = { .body = body };
	char query[256];
	u64 best = UINT64_MAX;

	(void)snprintf(query, sizeof(query), "from=%" PRIu64 "&to=%" PRIu64 "%s", (uint64_t)(from_ns / SECOND_NS),
		       (uint64_t)(to_ns / SECOND_NS), more);
	for (u32 i = 0; i < ROUNDS; i++) {
		u64 before = cpu_ns();

		body->len = 0;
		api_answer(&(struct api_sources){ .store = run->store }, name, query, &answer);
		before = cpu_ns() - before;
		best = before < best ? before : best;
	}
	if (answer.status != 200) {
		fprintf(stderr, "%s?%s: %d %.*s\n", name, query, answer.status, (int)body->len, (char *)body->data);
		run->failures++;
	}
	return best;
}

/* As the page sends it. */
static size_t gzipped(const struct buf *body)
{
	_cleanup_(buf_done) struct buf packed;

	buf_init(&packed, (size_t)1 << 30);
	(void)compression_pack(COMPRESSION_GZIP, body->data, body->len, &packed);
	return packed.len;
}

/* "total": ... of an answer. */
static double total_of(const struct buf *body)
{
	const char *at = body->len ? memmem(body->data, body->len, "\"total\":", 8) : NULL;

	return at ? strtod(at + 8, NULL) : 0;
}

static void question(struct run *run, const char *what, const char *name, u64 from_ns, u64 to_ns, const char *more,
		     double limit_ms)
{
	_cleanup_(buf_done) struct buf body;
	char beside[128];
	u64 took;

	buf_init(&body, (size_t)1 << 30);
	took = ask(run, name, from_ns, to_ns, more, &body);
	(void)snprintf(beside, sizeof(beside), "%zu KB, %zu KB gzipped", body.len / 1024, gzipped(&body) / 1024);
	if (total_of(&body) > 0)
		(void)snprintf(beside, sizeof(beside),
			       "%.3g M samples: merging them by hash takes %.3g x as long; %zu KB gzipped",
			       total_of(&body) / 1e6, total_of(&body) * run->merge_ns / (double)took,
			       gzipped(&body) / 1024);
	row(run, what, (double)took / 1e6, limit_ms, "ms", beside);
	if (!strcmp(name, "flame"))
		check(run, gzipped(&body) <= 200 * 1024, "a flame is at most 200 KB on the wire");
}

/* What a page that is open asks for after each window. */
static void live_refresh(struct run *run, u64 from_ns, u64 to_ns)
{
	_cleanup_(buf_done) struct buf body;
	u64 took;

	buf_init(&body, (size_t)1 << 30);
	took = ask(run, "flame", from_ns, to_ns, "", &body);
	if (total_of(&body) > 0)
		row(run, "live refresh of 15 minutes, per million samples", (double)took / total_of(&body), 20, "ms",
		    "");
}

static void questions(struct run *run)
{
	u64 now = START_NS + run->hours * HOUR_NS, hour = now / HOUR_NS * HOUR_NS, noon = START_NS + 12 * HOUR_NS;
	u64 busy = run->steady || noon + HOUR_NS > now ? hour - HOUR_NS : noon;
	u64 odd = 17 * 60 * SECOND_NS + 23 * SECOND_NS;

	question(run, "flame of 1 h", "flame", busy, busy + HOUR_NS, "", 100);
	question(run, "flame of 1 h that begins at no full minute", "flame", busy - odd, busy - odd + HOUR_NS, "", 100);
	if (run->hours >= 24)
		question(run, "flame of 24 h", "flame", now - 24 * HOUR_NS, now, "", 300);
	if (run->hours >= 168)
		question(run, "flame of 7 days", "flame", now - 168 * HOUR_NS, now, "", 1000);
	question(run, "flame of 1 h, one process", "flame", busy, busy + HOUR_NS, "&where=pid=1003", 100);
	question(run, "flame of 1 h, one thread", "flame", now - HOUR_NS, now, "&where=thread=worker-1", 1000);
	question(run, "flame of 1 h by process", "flame", busy, busy + HOUR_NS, "&group=process", 1000);
	question(run, "functions of 1 h", "top", busy, busy + HOUR_NS, "", 100);
	question(run, "chart of 1 h", "chart", busy, busy + HOUR_NS, "&buckets=300", 100);
	question(run, "chart of 24 h by process", "chart", now - 24 * HOUR_NS, now, "&by=process&buckets=300", 300);
	question(run, "heat map of 15 minutes, 90,000 cells", "heat", now - 900 * SECOND_NS, now, "&rows=100", 50);
	question(run, "flame of 15 minutes", "flame", now - 900 * SECOND_NS, now, "", 0);
	live_refresh(run, now - 900 * SECOND_NS, now);
	question(run, "status", "status", now - HOUR_NS, now, "", 10);
}

static double hours_back(const struct run *run, u64 first_ns)
{
	return first_ns ? (double)(START_NS + run->hours * HOUR_NS - first_ns) / HOUR_NS : 0;
}

/* What must hold on any machine: nothing vanishes, nothing grows. */
static void check_bounds(struct run *run, const struct store_stats *s)
{
	_cleanup_(buf_done) struct buf body;

	buf_init(&body, (size_t)1 << 30);
	(void)ask(run, "flame", START_NS, load_time_ns(run->load), "", &body);
	check(run, total_of(&body) == (double)load_samples(run->load),
	      "every sample of the whole time is in the flame graph");
	check(run, s->bytes <= (u64)run->max_mib << 20, "the file is as large as it may be, at most");
	check(run, run->rss_end <= MEMORY_MAX, "memory is bounded");
	check(run, run->hours < 4 || run->rss_end <= run->rss_half + run->rss_half / 4 + (16 << 20),
	      "memory does not grow with time");
}

static void report(struct run *run)
{
	struct store_stats s;
	double samples = (double)load_samples(run->load);

	store_stats(run->store, &s);
	check_bounds(run, &s);
	if (measure_merge(run) < 0)
		return;
	row(run, "samples", samples / 1e6, 0, "M", "");
	row(run, "frames of a sample", (double)load_frames(run->load) / samples, 0, "", "");
	row(run, "CPU time to add, per million samples", (double)run->add_ns / 1e6 / (samples / 1e6), 0, "ms", "");
	row(run, "CPU time to roll up and drop, per million samples", (double)run->tend_ns / 1e6 / (samples / 1e6), 0,
	    "ms", "");
	row(run, "longest step of housekeeping", (double)run->step_max_ns / 1e6, 0, "ms", "");
	row(run, "blocks per busy core-second at 20 Hz", (double)s.levels[0].bytes / ((double)s.levels[0].rows / HZ),
	    1024, "B", "");
	row(run, "file", (double)s.bytes / 1048576, run->max_mib, "MiB", "");
	row(run, "memory", (double)run->rss_end / 1048576, 0, "MiB", "");
	row(run, "blocks go back", hours_back(run, s.levels[0].first_ns), 0, "h", "");
	row(run, "minutes go back", hours_back(run, s.levels[1].first_ns), 0, "h", "");
	row(run, "merging a sample by hash", run->merge_ns / 1e3, 0, "us", "");
	questions(run);
}

/* ---- Options -------------------------------------------------------------------------------------------- */

static int start(struct run *run)
{
	struct load_options options = { run->cores, HZ, PROCESSES, run->stacks, !run->steady, START_NS, run->tenants };
	_cleanup_(buf_done) struct buf why, notice;
	int r;

	buf_init(&why, 512);
	buf_init(&notice, 512);
	run->load = load_new(&options);
	(void)snprintf(run->directory, sizeof(run->directory), "%s/wick-bench-XXXXXX",
		       getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	if (!run->load || !mkdtemp(run->directory))
		return -ENOMEM;
	run->rss_start = rss_bytes();
	r = store_open(&(struct store_options){ run->directory, (u64)run->max_mib << 20, .host = "here" }, &run->store,
		       &why, &notice);
	if (r < 0)
		fprintf(stderr, "%.*s\n", (int)why.len, (char *)why.data);
	return r;
}

static void finish(struct run *run)
{
	static const char *const files[] = { "wick.db", "wick.db-wal", "wick.db-shm", "lock", "" };
	char path[128];

	store_close(run->store);
	load_free(run->load);
	for (u32 i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", run->directory, files[i]);
		(void)remove(path);
	}
}

int main(int argc, char **argv)
{
	static const struct option long_options[] = {
		{ "hours", required_argument, NULL, 'h' },   { "cores", required_argument, NULL, 'c' },
		{ "stacks", required_argument, NULL, 's' },  { "window", required_argument, NULL, 'w' },
		{ "max-mib", required_argument, NULL, 'm' }, { "steady", no_argument, NULL, 'b' },
		{ "tap", no_argument, NULL, 't' },	     { "tenants", required_argument, NULL, 'l' },
		{ 0 },
	};
	struct run run = { .hours = 2, .cores = 64, .stacks = 50000, .window_s = 1, .max_mib = 1024 };
	int option, r;

	while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		switch (option) {
		case 'h':
			run.hours = (u32)atoi(optarg);
			break;
		case 'c':
			run.cores = (u32)atoi(optarg);
			break;
		case 's':
			run.stacks = (u32)atoi(optarg);
			break;
		case 'w':
			run.window_s = (u32)atoi(optarg);
			break;
		case 'm':
			run.max_mib = (u32)atoi(optarg);
			break;
		case 'l':
			run.tenants = (u32)atoi(optarg);
			break;
		case 'b':
			run.steady = true;
			break;
		case 't':
			run.tap = true;
			break;
		default:
			return 2;
		}
	}
	r = start(&run);
	if (r == 0)
		r = pass_hours(&run);
	if (r == 0)
		report(&run);
	finish(&run);
	return r < 0 || (run.tap && run.failures);
}
