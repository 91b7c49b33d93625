// SPDX-License-Identifier: Apache-2.0
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "profile/profile.h"
#include "analysis/calltree.h"
#include "store/sqlite.h"
#include "test.h"

#define HOUR_NS (3600 * SECOND_NS)
#define START_NS (500000 * HOUR_NS)	/* a whole hour, in 2027 */
#define STACKS 50
#define DEPTH 6

static char directory[64];

static void remove_directory(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", directory);
	if (directory[0] && system(command) != 0)
		fprintf(stderr, "%s is left\n", directory);
}

static void make_directory(void)
{
	snprintf(directory, sizeof(directory), "/tmp/wick-store-XXXXXX");
	OK(mkdtemp(directory));
	OK(atexit(remove_directory) == 0);
}

static struct store *open_store(u64 bytes_max)
{
	struct store *store = NULL;
	struct buf why, notice;

	buf_init(&why, 512);
	buf_init(&notice, 512);
	EQ(store_open(&(struct store_options){ directory, bytes_max, 1000 * HOUR_NS, .host = "here" }, &store, &why,
		      &notice), 0);
	buf_done(&why);
	buf_done(&notice);
	return store;
}

/* Stack n: f0;f(n % 7);f(n % 49);...; and every fifth leaf has no name. */
static u32 add_stack(struct profile *p, u32 n)
{
	u32 locations[DEPTH], divisor = 1;
	u32 mapping =
		profile_add_mapping(p, &(struct profile_mapping){ .filename = profile_add_cstring(p, "/bin/prog") });

	for (u32 d = 0; d < DEPTH; d++, divisor *= 3) {
		struct profile_line line = { 0 };
		char name[32];

		snprintf(name, sizeof(name), "f%u_%u", d, n % divisor);
		line.function =
			profile_add_function(p, &(struct profile_function){ .name = profile_add_cstring(p, name) });
		locations[DEPTH - 1 - d] = profile_add_location(p, &(struct profile_location){
			.mapping = mapping,
			.address = d + 1 == DEPTH ? 0x1000 + n : 0,
			.lines = &line,
			.line_count = d + 1 < DEPTH || n % 5,
		});
	}
	return profile_add_stack(p, locations, DEPTH);
}

static struct profile *new_profile(const char *host, const char *process, struct profile_set **ret_set)
{
	struct profile *p = profile_new();
	struct keyvalue attributes[2] = {
		{ STR("host.name"), { .kind = ANY_STRING, .string = { host, (u32)strlen(host) } } },
		{ STR("process.executable.name"), { .kind = ANY_STRING, .string = { process, (u32)strlen(process) } } },
	};

	OK(p);
	*ret_set = profile_add_set(p, profile_add_scope(p, profile_add_resource(p, attributes, 2)));
	(*ret_set)->sample_type =
		(struct profile_type){ profile_add_cstring(p, "samples"), profile_add_cstring(p, "count") };
	(*ret_set)->period_type =
		(struct profile_type){ profile_add_cstring(p, "cpu"), profile_add_cstring(p, "nanoseconds") };
	(*ret_set)->period = 50000000;
	return p;
}

static void add_sample(struct profile *p, struct profile_set *set, u32 stack, u64 time_ns, const char *thread, u32 cpu)
{
	u32 attributes[2] = { profile_add_attribute_string(p, "thread.name", thread),
			      profile_add_attribute_int(p, "cpu.logical_number", cpu) };
	struct profile_sample *sample = profile_add_sample(p, set);

	sample->stack = stack;
	sample->attributes = profile_copy_indices(p, attributes, 2);
	sample->times_unix_ns = profile_copy(p, &time_ns, sizeof(time_ns));
	sample->time_count = 1;
}

/* A second of samples: what is sampled is a function of the time, so that a test can count for itself. */
static u32 stack_at(u64 time_ns)
{
	return (u32)(time_ns / (SECOND_NS / 20) * 2654435761u >> 8) % STACKS;
}

static u64 added_from_ns, added_to_ns;	/* without gaps */

static void add_seconds(struct store *store, u64 from_ns, u32 seconds)
{
	struct profile_set *set;
	struct profile *p = new_profile("alpha", "prog", &set);

	for (u64 t = from_ns; t < from_ns + seconds * SECOND_NS; t += SECOND_NS / 20)
		add_sample(p, set, add_stack(p, stack_at(t)), t, t / SECOND_NS % 2 ? "odd" : "even", 1);
	EQ(profile_err(p), 0);
	EQ(store_add(store, p, 0, from_ns + seconds * SECOND_NS), 0);
	profile_free(p);
	added_from_ns = added_to_ns ? added_from_ns : from_ns;
	added_to_ns = from_ns + seconds * SECOND_NS;
}

static s64 total_of(const struct calltree *flame, const char *name)
{
	s64 total = 0;

	for (u32 i = 0; i < flame->nodes.count; i++) {
		const struct calltree_node *n = &calltree_nodes(flame)[i];
		struct str s = calltree_frames(flame)[n->frame].name;

		if (s.len == strlen(name) && !memcmp(s.at, name, s.len))
			total += n->total;
	}
	return total;
}

static struct calltree *flame_of(struct store *store, u64 from_ns, u64 to_ns)
{
	struct store_selection selection = { .from_ns = from_ns, .to_ns = to_ns };
	struct calltree *flame = NULL;

	EQ(store_flame(store, &selection, STORE_LABEL_COUNT, &flame), 0);
	return flame;
}

/* The answer must be what counting one by one gives. */
static void check_range(struct store *store, u64 from_ns, u64 to_ns)
{
	_cleanup_(calltree_freep) struct calltree *flame = flame_of(store, from_ns, to_ns);
	s64 all = 0, ones = 0, step = SECOND_NS / 20;

	for (u64 t = added_from_ns; t < added_to_ns; t += (u64)step) {
		all += t >= from_ns && t < to_ns;
		ones += t >= from_ns && t < to_ns && stack_at(t) % 3 == 1;
	}
	EQ(calltree_nodes(flame)[0].total, all);
	EQ(total_of(flame, "f1_1"), ones);
}

static void maintain(struct store *store, u64 now_ns)
{
	int r;

	while ((r = store_maintain(store, now_ns)) > 0)
		;
	EQ(r, 0);
}

TEST(store_answers_with_what_was_added)
{
	make_directory();
	_cleanup_(store_closep) struct store *store = open_store(0);

	add_seconds(store, START_NS + 55 * SECOND_NS, 10);
	check_range(store, START_NS, START_NS + HOUR_NS);
	check_range(store, START_NS + 57 * SECOND_NS, START_NS + 62 * SECOND_NS + 123456789);
	check_range(store, START_NS + 60 * SECOND_NS, START_NS + 60 * SECOND_NS + 1);
	/* Both blocks begin in the minute that the range begins in, and end before it. */
	check_range(store, START_NS + 70 * SECOND_NS, START_NS + 80 * SECOND_NS);
}

TEST(store_names_functions_without_symbols_by_their_place)
{
	make_directory();
	_cleanup_(store_closep) struct store *store = open_store(0);
	_cleanup_(calltree_freep) struct calltree *flame = NULL;

	add_seconds(store, START_NS, 20);
	flame = flame_of(store, START_NS, START_NS + HOUR_NS);
	OK(total_of(flame, "prog+0x1005") > 0);
	STREQ(flame->unit.len == 5 ? "count" : "", "count");
	OK(!flame->is_coarse);
}

TEST(store_rolls_up_and_answers_the_same)
{
	make_directory();
	_cleanup_(store_closep) struct store *store = open_store(0);
	u64 now_ns = START_NS + 3 * HOUR_NS;
	struct store_stats stats;

	for (u32 i = 0; i < 2 * 3600; i += 30)
		add_seconds(store, START_NS + i * SECOND_NS, 30);
	check_range(store, START_NS, START_NS + 2 * HOUR_NS);
	maintain(store, now_ns);
	store_stats(store, &stats);
	EQ(stats.levels[1].blocks, 120);
	EQ(stats.levels[2].blocks, 12);
	EQ(stats.levels[3].blocks, 2);
	check_range(store, START_NS, START_NS + 2 * HOUR_NS);
	check_range(store, START_NS + 17 * SECOND_NS, START_NS + HOUR_NS + 1234 * SECOND_NS);
	/* What comes late is counted at every level. */
	add_seconds(store, START_NS + 2 * HOUR_NS, 30);
	maintain(store, now_ns);
	check_range(store, START_NS + HOUR_NS, START_NS + 3 * HOUR_NS);
}

TEST(store_counts_what_comes_after_the_roll_up)
{
	make_directory();
	_cleanup_(store_closep) struct store *store = open_store(0);

	add_seconds(store, START_NS, 30);
	maintain(store, START_NS + 2 * HOUR_NS);
	add_seconds(store, START_NS + 30 * SECOND_NS, 30);
	check_range(store, START_NS, START_NS + 60 * SECOND_NS);
	check_range(store, START_NS, START_NS + HOUR_NS);
	maintain(store, START_NS + 2 * HOUR_NS);
	check_range(store, START_NS, START_NS + HOUR_NS);
}

TEST(store_is_there_after_it_was_closed)
{
	struct store *store;

	make_directory();
	store = open_store(0);
	add_seconds(store, START_NS, 60);
	add_seconds(store, START_NS + 60 * SECOND_NS, 60);
	store_close(store);
	store = open_store(0);
	check_range(store, START_NS, START_NS + HOUR_NS);
	add_seconds(store, START_NS + 120 * SECOND_NS, 60);
	store_close(store);
	store = open_store(0);
	check_range(store, START_NS, START_NS + HOUR_NS);
	store_close(store);
}

TEST(store_gets_coarser_before_it_forgets)
{
	make_directory();
	_cleanup_(store_closep) struct store *store = open_store(256 << 10);
	struct store_stats stats;
	u64 now_ns = START_NS;

	for (u32 i = 0; i < 4 * 3600; i += 60) {
		add_seconds(store, START_NS + i * SECOND_NS, 60);
		now_ns = START_NS + (i + 60) * SECOND_NS;
		maintain(store, now_ns);
	}
	store_stats(store, &stats);
	OK(stats.bytes <= 300 << 10);
	OK(stats.levels[0].first_ns > START_NS);
	OK(stats.levels[3].first_ns < stats.levels[0].first_ns);
	{
		_cleanup_(calltree_freep) struct calltree *flame = flame_of(store, stats.levels[3].first_ns, now_ns);

		OK(calltree_nodes(flame)[0].total > 0);
	}
	/* What is left of the first hour is an hour's sum: it was one CPU all the time, not sixty in one minute. */
	{
		struct store_selection selection = { .from_ns = stats.levels[3].first_ns,
						     .to_ns = stats.levels[3].first_ns + 3600 * SECOND_NS };
		struct store_chart chart;

		EQ(store_chart(store, &selection, STORE_HOST, 360, 5, &chart), 0);
		EQ(chart.line_count, 1);
		for (u32 i = 0; i < 360; i++)
			OK(chart.lines[0].buckets[i] > 0.9 && chart.lines[0].buckets[i] < 1.1);
		store_chart_done(&chart);
	}
}

TEST(store_is_locked_by_who_has_it)
{
	struct store *other = NULL;
	struct buf why, notice;

	make_directory();
	_cleanup_(store_closep) struct store *store = open_store(0);
	buf_init(&why, 512);
	buf_init(&notice, 512);
	EQ(store_open(&(struct store_options){ directory, 0, 0, .host = "here" }, &other, &why, &notice), -EBUSY);
	OK(strstr(why.data, "in use by process"));
	buf_done(&why);
	buf_done(&notice);
}

TEST(store_sets_a_broken_file_aside)
{
	struct store *store = NULL;
	struct buf why, notice;
	char path[128];
	int fd;

	make_directory();
	snprintf(path, sizeof(path), "%s/wick.db", directory);
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	for (u32 i = 0; i < 1000; i++)
		EQ(write(fd, "this is no database, is it?", 27), 27);
	close(fd);
	buf_init(&why, 512);
	buf_init(&notice, 512);
	EQ(store_open(&(struct store_options){ directory, 0, 1000 * HOUR_NS, .host = "here" }, &store, &why,
		      &notice), 0);
	OK(strstr(notice.data, "broken"));
	add_seconds(store, START_NS, 10);
	check_range(store, START_NS, START_NS + HOUR_NS);
	store_close(store);
	buf_done(&why);
	buf_done(&notice);
}

TEST(store_selects_and_groups_by_labels)
{
	struct store_selection selection = { .from_ns = START_NS, .to_ns = START_NS + HOUR_NS };
	struct store_values values;
	struct profile_set *set;
	struct profile *p;
	struct calltree *flame;

	make_directory();
	_cleanup_(store_closep) struct store *store = open_store(0);
	add_seconds(store, START_NS, 10);
	p = new_profile("beta", "other", &set);
	add_sample(p, set, add_stack(p, 3), START_NS, "main", 7);
	EQ(store_add(store, p, 0, START_NS + SECOND_NS), 0);
	profile_free(p);

	EQ(store_values(store, &selection, STORE_HOST, 10, &values), 0);
	EQ(values.count, 2);
	STREQ(values.at[0].text, "alpha");
	EQ(values.at[0].total, 200);
	EQ(values.at[1].total, 1);
	store_values_done(&values);

	selection.filters[selection.filter_count++] = (struct store_filter){ STORE_CPU, STORE_EQUAL, "7" };
	EQ(store_flame(store, &selection, STORE_PROCESS, &flame), 0);
	EQ(calltree_nodes(flame)[0].total, 1);
	EQ(total_of(flame, "other"), 1);
	calltree_free(flame);
	selection.filters[0] = (struct store_filter){ STORE_THREAD, STORE_NOT_EQUAL, "odd" };
	EQ(store_flame(store, &selection, STORE_THREAD, &flame), 0);
	EQ(calltree_nodes(flame)[0].total, 101);
	EQ(total_of(flame, "even"), 100);
	calltree_free(flame);
	selection.filters[0] = (struct store_filter){ STORE_HOST, STORE_CONTAINS, "et" };
	EQ(store_flame(store, &selection, STORE_LABEL_COUNT, &flame), 0);
	EQ(calltree_nodes(flame)[0].total, 1);
	calltree_free(flame);
}

static void add_linked(struct profile *p, struct profile_set *set, u8 trace, u8 span, u64 time_ns)
{
	struct profile_link link = { .trace_id = { trace }, .span_id = { span } };
	struct profile_sample *sample = profile_add_sample(p, set);

	sample->stack = add_stack(p, 1);
	sample->link = profile_add_link(p, &link);
	sample->times_unix_ns = profile_copy(p, &time_ns, sizeof(time_ns));
	sample->time_count = 1;
}

TEST(store_knows_traces_and_their_spans)
{
	struct store_selection selection = { .from_ns = START_NS, .to_ns = START_NS + HOUR_NS };
	struct store_traces traces;
	struct profile_set *set;
	struct profile *p;

	make_directory();
	_cleanup_(store_closep) struct store *store = open_store(0);
	add_seconds(store, START_NS, 2);
	p = new_profile("beta", "shop", &set);
	add_linked(p, set, 1, 1, START_NS + 5);
	add_linked(p, set, 2, 1, START_NS + 2);
	add_linked(p, set, 2, 2, START_NS + 9);
	add_linked(p, set, 2, 2, START_NS + 4);
	EQ(store_add(store, p, 0, START_NS + SECOND_NS), 0);
	profile_free(p);

	EQ(store_traces(store, &selection, false, 10, &traces), 0);
	EQ(traces.count, 2);
	EQ(traces.at[0].samples, 3);
	EQ(traces.at[0].spans, 2);
	EQ(traces.at[0].first_ns, START_NS + 2);
	EQ(traces.at[0].last_ns, START_NS + 9);
	STREQ(traces.at[0].trace, "02000000000000000000000000000000");
	STREQ(traces.at[0].span, "");
	STREQ(traces.at[0].process, "shop");
	STREQ(traces.at[0].host, "beta");
	store_traces_done(&traces);
	EQ(store_traces(store, &selection, false, 1, &traces), 0);
	EQ(traces.count, 1);
	store_traces_done(&traces);

	selection.filters[selection.filter_count++] =
		(struct store_filter){ STORE_TRACE, STORE_EQUAL, "02000000000000000000000000000000" };
	EQ(store_traces(store, &selection, true, 10, &traces), 0);
	EQ(traces.count, 2);
	STREQ(traces.at[0].span, "0200000000000000");
	EQ(traces.at[0].samples, 2);
	EQ(traces.at[1].spans, 1);
	store_traces_done(&traces);
}

TEST(store_charts_how_many_cpus_were_busy)
{
	struct store_selection selection = { .from_ns = START_NS, .to_ns = START_NS + 20 * SECOND_NS };
	struct store_chart chart;

	make_directory();
	_cleanup_(store_closep) struct store *store = open_store(0);
	add_seconds(store, START_NS, 10);
	EQ(store_chart(store, &selection, STORE_THREAD, 20, 5, &chart), 0);
	EQ(chart.line_count, 2);
	/* 20 samples a second of 50 ms each: one CPU. */
	EQ((int)(chart.lines[0].buckets[0] + chart.lines[1].buckets[0] + 0.5), 1);
	EQ((int)(chart.lines[0].buckets[15] + chart.lines[1].buckets[15] + 0.5), 0);
	store_chart_done(&chart);
}

/* A chart in so many buckets, each of which has the most that any has of all lines together. */
static double most_cpus(const struct store_chart *chart)
{
	double most = 0;

	for (u32 b = 0; b < chart->bucket_count; b++) {
		double sum = 0;

		for (u32 i = 0; i < chart->line_count; i++)
			sum += chart->lines[i].buckets[b];
		most = sum > most ? sum : most;
	}
	return most;
}

TEST(store_charts_no_more_cpus_than_were_sampled)
{
	struct store_selection selection = { .from_ns = START_NS + 3, .to_ns = START_NS + 20 * SECOND_NS };
	struct store_chart chart;

	make_directory();
	_cleanup_(store_closep) struct store *store = open_store(0);
	add_seconds(store, START_NS, 10);
	/* One CPU, at 20 samples a second; wanted by the half of a period, and in parts that do not divide a second. */
	for (u32 buckets = 7; buckets <= 1000; buckets = buckets * 3 + 1) {
		EQ(store_chart(store, &selection, STORE_PROCESS, buckets, 5, &chart), 0);
		OK(chart.bucket_count <= buckets && chart.bucket_count <= 50);
		OK(most_cpus(&chart) < 1.0001 && most_cpus(&chart) > 0.99);
		OK(chart.watched[0] && !chart.watched[chart.bucket_count - 1]);
		store_chart_done(&chart);
	}
}

TEST(store_charts_a_profile_without_times_as_one_cpu)
{
	struct store_selection selection = { .from_ns = START_NS, .to_ns = START_NS + 100 * SECOND_NS };
	s64 values[] = { 500, 700 };	/* of 50 ms: a minute; one series, which is read as a sum */
	struct store_chart chart;
	struct profile_set *set;
	struct profile *p = new_profile("alpha", "prog", &set);
	double sum = 0;

	make_directory();
	_cleanup_(store_closep) struct store *store = open_store(0);
	for (u32 i = 0; i < 2; i++) {
		struct profile_sample *sample = profile_add_sample(p, set);

		sample->stack = add_stack(p, i);
		sample->values = &values[i];
		sample->value_count = 1;
	}
	set->time_unix_ns = START_NS + 5 * SECOND_NS + SECOND_NS / 2;
	EQ(store_add(store, p, 0, START_NS + SECOND_NS), 0);
	profile_free(p);
	EQ(store_chart(store, &selection, STORE_PROCESS, 100, 5, &chart), 0);
	OK(most_cpus(&chart) < 1.0001);
	for (u32 b = 0; b < chart.bucket_count; b++)
		sum += chart.lines[0].buckets[b];
	OK(sum > 59.9 && sum < 60.1);
	store_chart_done(&chart);
}

TEST(store_heats_the_parts_of_seconds)
{
	struct store_selection selection = { .from_ns = START_NS + 2 * SECOND_NS, .to_ns = START_NS + 5 * SECOND_NS };
	struct store_heat heat;

	make_directory();
	_cleanup_(store_closep) struct store *store = open_store(0);
	add_seconds(store, START_NS, 10);
	EQ(store_heat(store, &selection, 10, &heat), 0);
	EQ(heat.seconds, 3);
	EQ(heat.cells[0], 2);
	EQ(heat.cells[29], 2);
	EQ(heat.max, 2);
	store_heat_done(&heat);
}

TEST(store_keeps_impossible_times_under_that_of_arrival)
{
	struct store_stats stats;
	struct profile_set *set;
	struct profile *p;

	make_directory();
	_cleanup_(store_closep) struct store *store = open_store(0);
	p = new_profile("alpha", "prog", &set);
	add_sample(p, set, add_stack(p, 1), 1, "main", 0);
	add_sample(p, set, add_stack(p, 1), UINT64_MAX, "main", 0);
	EQ(store_add(store, p, 0, START_NS), 0);
	profile_free(p);
	store_stats(store, &stats);
	EQ(stats.times_wrong, 2);
	{
		_cleanup_(calltree_freep) struct calltree *flame = flame_of(store, START_NS, START_NS + SECOND_NS);

		EQ(calltree_nodes(flame)[0].total, 2);
	}
}
