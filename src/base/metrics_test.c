// SPDX-License-Identifier: Apache-2.0
#include "base/metrics.h"

#include <math.h>
#include <pthread.h>

#include "base/budget.h"
#include "base/buf.h"
#include "test.h"

static char *render(struct metrics *metrics)
{
	struct buf out;

	buf_init(&out, 1 << 20);
	metrics_render(metrics, &out);
	EQ(buf_err(&out), 0);
	return test_keep(out.data);
}

#define DROPPED "# HELP wick_metrics_dropped Times a number about wick itself had no room and is shown nowhere\n" \
		"# TYPE wick_metrics_dropped counter\nwick_metrics_dropped "

TEST(metrics_renders_names_in_order_with_their_help_once)
{
	const struct metric_label a[] = { { "exporter", "otlp/\"x\"\n\\" }, { "data_type", "profiles" } };
	const struct metric_label b[] = { { "exporter", "debug" }, { NULL, NULL }, { "never", "shown" } };
	struct metrics *metrics = metrics_new();

	metric_add(metrics_get(metrics, METRIC_COUNTER, "otelcol_sent", "Samples sent\nto others", a, 2), 7);
	metric_set(metrics_get(metrics, METRIC_GAUGE, "a_size", "Now", NULL, 0), -3);
	metric_add(metrics_get(metrics, METRIC_COUNTER, "otelcol_sent", "Samples sent\nto others", b, 3), 1);
	STREQ(render(metrics),
	      "# HELP a_size Now\n# TYPE a_size gauge\na_size -3\n"
	      "# HELP otelcol_sent Samples sent\\nto others\n# TYPE otelcol_sent counter\n"
	      "otelcol_sent{exporter=\"otlp/\\\"x\\\"\\n\\\\\",data_type=\"profiles\"} 7\n"
	      "otelcol_sent{exporter=\"debug\"} 1\n" DROPPED "0\n");
	metrics_free(metrics);
}

TEST(metrics_keeps_a_counter_that_is_asked_for_again)
{
	const struct metric_label label = { "a", "b" };
	struct metrics *metrics = metrics_new();
	struct metric *one = metrics_get(metrics, METRIC_COUNTER, "x", "", &label, 1);

	metric_add(one, 5);
	OK(metrics_get(metrics, METRIC_COUNTER, "x", "", &label, 1) == one);
	OK(metrics_get(metrics, METRIC_COUNTER, "x", "", NULL, 0) != one);
	EQ(metric_value(one), 5);
	metrics_free(metrics);
}

static void source(void *arg, struct metrics_out *out)
{
	const struct metric_label label = { "cpu", "0" };

	metrics_put(out, METRIC_GAUGE, "load", "Average", &label, 1, *(double *)arg);
}

TEST(metrics_asks_sources_until_they_are_forgotten)
{
	struct metrics *metrics = metrics_new();
	double half = 0.5, none = NAN, all = INFINITY;

	EQ(metrics_add_source(metrics, source, &half), 0);
	EQ(metrics_add_source(metrics, source, &none), 0);
	EQ(metrics_add_source(metrics, source, &all), 0);
	STREQ(render(metrics), "# HELP load Average\n# TYPE load gauge\nload{cpu=\"0\"} 0.5\nload{cpu=\"0\"} NaN\n"
			       "load{cpu=\"0\"} +Inf\n" DROPPED "0\n");
	metrics_forget_source(metrics, source, &none);
	metrics_forget_source(metrics, source, &half);
	STREQ(render(metrics), "# HELP load Average\n# TYPE load gauge\nload{cpu=\"0\"} +Inf\n" DROPPED "0\n");
	metrics_free(metrics);
}

TEST(metrics_gives_a_spare_one_past_its_limit)
{
	static char names[METRICS_MAX + 1][8];
	struct metrics *metrics = metrics_new();
	struct metric *last = NULL;

	for (int i = 0; i <= METRICS_MAX; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "m%d", i);
		last = metrics_get(metrics, METRIC_COUNTER, names[i], "", NULL, 0);
	}
	metric_add(last, 9);
	OK(strstr(render(metrics), "m4094 0\n"));
	OK(!strstr(render(metrics), "m4096 9\n"));
	OK(strstr(render(metrics), DROPPED "2\n"));
	metrics_free(metrics);
}

TEST(metrics_survives_without_memory)
{
	struct metrics *metrics = metrics_new();
	struct metric *metric;

	for (long i = 0; i < 4; i++) {
		test_alloc_fail(i);
		metric = metrics_get(metrics, METRIC_COUNTER, "x", "", NULL, 0);
		if (test_alloc_reset() > i)
			metric_add(metric, 1);
	}
	OK(!strstr(render(metrics), "x 1\n"));
	for (long i = 0; i < 4; i++) {
		struct metrics *none;

		test_alloc_fail(i);
		none = metrics_new();
		if (test_alloc_reset() > i)
			OK(!none);
		metrics_free(none);
	}
	metrics_free(metrics);
}

static void *adds(void *arg)
{
	for (int i = 0; i < 10000; i++)
		metric_add(metrics_get(arg, METRIC_COUNTER, "x", "", NULL, 0), 1);
	return NULL;
}

TEST(metrics_counts_for_many_threads)
{
	struct metrics *metrics = metrics_new();
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		EQ(pthread_create(&threads[i], NULL, adds, metrics), 0);
	for (int i = 0; i < 4; i++)
		EQ(pthread_join(threads[i], NULL), 0);
	EQ(metric_value(metrics_get(metrics, METRIC_COUNTER, "x", "", NULL, 0)), 40000);
	metrics_free(metrics);
}

TEST(metrics_that_were_rendered_for_a_question_are_not_charged_to_it_for_ever)
{
	struct metrics *metrics = metrics_new();
	struct budget_scope scope;
	struct buf out;

	metric_add(metrics_get(metrics, METRIC_COUNTER, "a", "b", &(struct metric_label){ "c", "d" }, 1), 1);
	budget_begin(&scope, BUDGET_QUESTIONS);
	buf_init(&out, 10000);
	metrics_render(metrics, &out);
	OK(out.len > 0);
	buf_done(&out);
	budget_end(&scope);
	EQ(budget_used(BUDGET_QUESTIONS), 0);
	metrics_free(metrics);
}
