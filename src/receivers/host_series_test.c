// SPDX-License-Identifier: Apache-2.0
#include "receivers/host_series.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "test.h"
#include "wire/otlp/machine_metrics.h"

#define NOW_NS (1800000000 * SECOND_NS)
#define MINUTE_NS (60 * SECOND_NS)
#define DAY_NS (86400 * SECOND_NS)

/* What was kept, and the clock of both ends. */
struct bench {
	struct host_series *series;
	struct host_series_told told;
	struct series_row last;
	char host[MACHINE_NAME_MAX];
	u32 parts, kept, trims;
	u64 now_ns;
	int answer;
	const char *own_host;
};

static struct bench bench_new(void)
{
	struct bench b = { .series = host_series_new(), .now_ns = NOW_NS, .own_host = "" };

	OK(b.series);
	return b;
}

static int keep(void *arg, const struct series_other *other, const struct series_row *row)
{
	struct bench *b = arg;

	OK(row->end_ns > row->start_ns && row->end_ns - row->start_ns <= MINUTE_NS);
	EQ(other->now_ns, b->now_ns);
	b->last = *row;
	snprintf(b->host, sizeof(b->host), "%s", other->host);
	b->parts = other->parts;
	b->trims += other->is_time_to_trim;
	b->kept += b->answer == 0;
	return b->answer;
}

static void take(struct bench *b, u64 sender, const struct machine_sample *samples, u32 count)
{
	struct machine_metrics metrics = { .samples = (struct machine_sample *)samples, .count = count };

	host_series_take(b->series, &metrics, &(struct host_series_options){
		.sender = sender, .own_host = b->own_host, .now_ns = b->now_ns,
		.monotonic_ns = b->now_ns - NOW_NS + DAY_NS, .keep = keep, .arg = b,
	}, &b->told);
}

/* With so many seconds of CPU time behind it, all busy, of 4 CPUs. */
static struct machine_sample sample(const char *host, u64 time_ns, double seconds)
{
	struct machine_sample s = { .has_cpu = true };

	snprintf(s.host, sizeof(s.host), "%s", host);
	s.at.monotonic_ns = time_ns;
	s.at.cpu_count = 4;
	s.at.cpu_ns[HOST_CPU_USER] = (u64)(seconds * 1e9);
	s.at.memory_total_bytes = 1000;
	s.at.memory_available_bytes = 250;
	s.at.load[0] = 2;
	return s;
}

static void tell(struct bench *b, u64 sender, const char *host, u64 time_ns, double seconds)
{
	struct machine_sample s = sample(host, time_ns, seconds);

	take(b, sender, &s, 1);
}

/* Then what it tells ten seconds later. */
static void step(struct bench *b, u64 sender, const char *host, double seconds)
{
	b->now_ns += 10 * SECOND_NS;
	tell(b, sender, host, b->now_ns, seconds);
}

TEST(host_series_are_rates_between_two_samples)
{
	struct bench b = bench_new();

	step(&b, 1, "a", 100);
	EQ(b.kept, 0);
	step(&b, 1, "a", 115);
	EQ(b.kept, 1);
	STREQ(b.host, "a");
	EQ(b.last.end_ns, b.now_ns);
	EQ(b.last.end_ns - b.last.start_ns, 10 * SECOND_NS);
	EQ(b.last.numbers[SERIES_BUSY], 1500);
	EQ(b.last.numbers[SERIES_MEMORY_USED], 750);
	EQ(b.last.numbers[SERIES_LOAD], 2000);
	EQ(b.told.rows, 1);
	host_series_free(b.series);
}

TEST(host_series_begin_anew_after_a_restart)
{
	struct bench b = bench_new();

	step(&b, 1, "a", 1000);
	step(&b, 1, "a", 1010);
	step(&b, 1, "a", 3);
	EQ(b.kept, 1);
	step(&b, 1, "a", 8);
	EQ(b.kept, 2);
	EQ(b.last.numbers[SERIES_BUSY], 500);
	host_series_free(b.series);
}

TEST(host_series_take_no_more_than_the_cpus_can_do)
{
	struct bench b = bench_new();

	step(&b, 1, "a", 100);
	step(&b, 1, "a", 100 + 1e6);
	EQ(b.kept, 0);
	EQ(b.told.refused[HOST_SERIES_VALUE], 1);
	step(&b, 1, "a", 100 + 1e6 + 10);
	EQ(b.kept, 1);
	EQ(b.last.numbers[SERIES_BUSY], 1000);
	host_series_free(b.series);
}

TEST(host_series_need_times_of_cpus)
{
	struct bench b = bench_new();
	struct machine_sample s = sample("a", NOW_NS, 1);

	s.has_cpu = false;
	take(&b, 1, &s, 1);
	EQ(b.told.refused[HOST_SERIES_NO_CPU], 1);
	host_series_free(b.series);
}

TEST(host_series_take_times_in_order)
{
	struct bench b = bench_new();

	step(&b, 1, "a", 100);
	step(&b, 1, "a", 110);
	tell(&b, 1, "a", b.now_ns, 110);
	tell(&b, 1, "a", b.now_ns - 5 * SECOND_NS, 105);
	EQ(b.told.refused[HOST_SERIES_TIME], 2);
	/* What comes within a second is part of the next. */
	tell(&b, 1, "a", b.now_ns + SECOND_NS / 2, 110);
	EQ(b.kept, 1);
	step(&b, 1, "a", 120);
	EQ(b.kept, 2);
	EQ(b.last.numbers[SERIES_BUSY], 1000);
	EQ(b.last.end_ns - b.last.start_ns, 10 * SECOND_NS);
	host_series_free(b.series);
}

TEST(host_series_follow_a_clock_that_was_set)
{
	struct bench b = bench_new();

	tell(&b, 1, "a", NOW_NS, 100);
	/* An hour back: nothing of the hour between, then rows again. */
	tell(&b, 1, "a", NOW_NS - 3600 * SECOND_NS, 110);
	EQ(b.told.refused[HOST_SERIES_TIME], 1);
	tell(&b, 1, "a", NOW_NS - 3590 * SECOND_NS, 120);
	EQ(b.kept, 1);
	EQ(b.last.end_ns, NOW_NS - 3590 * SECOND_NS);
	/* And ahead. */
	tell(&b, 1, "a", NOW_NS, 130);
	EQ(b.kept, 1);
	host_series_free(b.series);
}

TEST(host_series_of_wrong_clocks_are_of_when_they_came)
{
	static const u64 clocks[] = { NOW_NS + 3600 * SECOND_NS, NOW_NS - 3 * DAY_NS, SECOND_NS, UINT64_MAX - DAY_NS };

	for (size_t i = 0; i < sizeof(clocks) / sizeof(*clocks); i++) {
		struct bench b = bench_new();

		tell(&b, 1, "a", clocks[i], 100);
		b.now_ns += 10 * SECOND_NS;
		tell(&b, 1, "a", clocks[i] + 10 * SECOND_NS, 110);
		EQ(b.kept, 1);
		EQ(b.last.end_ns, b.now_ns);
		EQ(b.last.start_ns, NOW_NS);
		/* Many at once cannot all be of now. */
		for (u32 n = 2; n < 10; n++)
			tell(&b, 1, "a", clocks[i] + n * 10 * SECOND_NS, 100 + n * 10);
		EQ(b.kept, 1);
		EQ(b.told.refused[HOST_SERIES_TIME], 8);
		host_series_free(b.series);
	}
}

TEST(host_series_take_what_was_kept_while_it_could_not_be_sent)
{
	struct bench b = bench_new();
	struct machine_sample samples[100];

	for (u32 i = 0; i < 100; i++)
		samples[i] = sample("a", NOW_NS - 3600 * SECOND_NS + i * 10 * SECOND_NS, i);
	take(&b, 1, samples, 100);
	EQ(b.kept, 99);
	EQ(b.last.end_ns, NOW_NS - 3600 * SECOND_NS + 990 * SECOND_NS);
	host_series_free(b.series);
}

TEST(host_series_of_long_intervals_are_several_rows)
{
	struct bench b = bench_new();

	tell(&b, 1, "a", b.now_ns, 100);
	b.now_ns += 300 * SECOND_NS;
	tell(&b, 1, "a", b.now_ns, 400);
	EQ(b.kept, 5);
	EQ(b.last.end_ns, b.now_ns);
	EQ(b.last.start_ns, b.now_ns - MINUTE_NS);
	EQ(b.last.numbers[SERIES_BUSY], 1000);
	/* Of what was for too long nobody knows. */
	b.now_ns += 1000 * SECOND_NS;
	tell(&b, 1, "a", b.now_ns, 500);
	EQ(b.kept, 5);
	host_series_free(b.series);
}

TEST(host_series_of_one_host_are_one_each_second)
{
	struct bench b = bench_new();

	/* A day of what seems to be a backlog, at once. */
	for (u32 i = 0; i < 80000; i++)
		tell(&b, 1, "a", NOW_NS - DAY_NS + (i + 10) * SECOND_NS, i);
	EQ(b.kept, 1024);
	EQ(b.told.refused[HOST_SERIES_ROWS], 80000 - 1 - 1024);
	EQ(b.trims, 4);
	host_series_free(b.series);
}

TEST(host_series_leave_the_machine_that_is_sampled_here_alone)
{
	struct bench b = bench_new();

	b.own_host = "here";
	step(&b, 1, "here", 100);
	step(&b, 1, "here", 110);
	EQ(b.kept, 0);
	EQ(b.told.refused[HOST_SERIES_OWN], 2);
	host_series_free(b.series);
}

TEST(host_series_belong_to_who_tells_of_them)
{
	struct bench b = bench_new();

	step(&b, 1, "a", 100);
	step(&b, 2, "a", 5);
	step(&b, 1, "a", 120);
	EQ(b.kept, 1);
	EQ(b.last.numbers[SERIES_BUSY], 1000);
	EQ(b.told.refused[HOST_SERIES_TAKEN], 1);
	/* Until it is silent. */
	b.now_ns += 301 * SECOND_NS;
	step(&b, 2, "a", 200);
	step(&b, 2, "a", 210);
	EQ(b.kept, 2);
	step(&b, 1, "a", 130);
	EQ(b.told.refused[HOST_SERIES_TAKEN], 2);
	host_series_free(b.series);
}

TEST(host_series_of_a_flood_of_names_take_no_room_of_others)
{
	struct bench b = bench_new();
	char name[32];

	for (u32 i = 0; i < 400; i++) {
		snprintf(name, sizeof(name), "good%u", i);
		tell(&b, 100 + i, name, b.now_ns, 100);
	}
	for (u32 i = 0; i < 5000; i++) {
		snprintf(name, sizeof(name), "flood%u", i);
		tell(&b, 7, name, b.now_ns, 100);
	}
	EQ(b.told.refused[HOST_SERIES_HOSTS], 5000 - HOST_SERIES_HOSTS_MAX / 2);
	/* When there is no room it is the flood that makes some. */
	for (u32 i = 400; i < 1000; i++) {
		snprintf(name, sizeof(name), "good%u", i);
		tell(&b, 100 + i, name, b.now_ns, 100);
	}
	b.now_ns += 10 * SECOND_NS;
	for (u32 i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "good%u", i);
		tell(&b, 100 + i, name, b.now_ns, 110);
	}
	EQ(b.kept, 1000);
	/* Nor do those that were forgotten make room for new names on the same day. */
	for (u32 i = 5000; i < 6000; i++) {
		snprintf(name, sizeof(name), "flood%u", i);
		tell(&b, 7, name, b.now_ns, 100);
	}
	EQ(b.told.refused[HOST_SERIES_HOSTS], 6000 - HOST_SERIES_HOSTS_MAX / 2);
	host_series_free(b.series);
}

TEST(host_series_share_the_store_by_sender)
{
	struct bench b = bench_new();
	char name[32];

	for (u32 i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "many%u", i);
		tell(&b, 1, name, b.now_ns, 100);
	}
	tell(&b, 2, "one", b.now_ns, 100);
	step(&b, 2, "one", 110);
	EQ(b.parts, 2);
	tell(&b, 1, "many7", b.now_ns, 110);
	EQ(b.parts, 200);
	host_series_free(b.series);
}

TEST(host_series_are_forgotten_after_a_day)
{
	struct bench b = bench_new();

	step(&b, 1, "a", 100);
	b.now_ns += 2 * DAY_NS;
	tell(&b, 2, "b", b.now_ns, 100);
	step(&b, 2, "b", 110);
	EQ(b.parts, 1);
	host_series_free(b.series);
}

TEST(host_series_that_no_store_keeps_are_counted)
{
	struct bench b = bench_new();

	step(&b, 1, "a", 100);
	b.answer = -EDQUOT;
	step(&b, 1, "a", 110);
	b.answer = -EBUSY;
	step(&b, 1, "a", 120);
	EQ(b.told.refused[HOST_SERIES_HOSTS], 1);
	EQ(b.told.refused[HOST_SERIES_STORE], 1);
	EQ(b.told.rows, 0);
	host_series_free(b.series);
}

TEST(host_series_survive_without_memory)
{
	struct bench b = bench_new();

	test_alloc_fail(0);
	tell(&b, 1, "a", b.now_ns, 100);
	(void)test_alloc_reset();
	EQ(b.told.refused[HOST_SERIES_STORE], 1);
	test_alloc_fail(1);
	tell(&b, 1, "a", b.now_ns, 100);
	(void)test_alloc_reset();
	EQ(b.told.refused[HOST_SERIES_HOSTS], 1);
	step(&b, 1, "a", 100);
	step(&b, 1, "a", 110);
	EQ(b.kept, 1);
	host_series_free(b.series);
}
