// SPDX-License-Identifier: Apache-2.0
#include "extensions/prometheus_text.h"

#include "base/buf.h"
#include "base/metrics.h"
#include "test.h"

static const char plain[] =
	"# HELP otelcol_process_uptime Uptime of the process\n# TYPE otelcol_process_uptime counter\n"
	"otelcol_process_uptime 12.5\n"
	"# HELP otelcol_exporter_queue_size now {and} then\n# TYPE otelcol_exporter_queue_size gauge\n"
	"otelcol_exporter_queue_size{exporter=\"a b\"} 3\notelcol_exporter_queue_size{exporter=\"c\"} 4\n";

static void expect(const struct prometheus_naming *naming, const char *want)
{
	struct buf out;

	buf_init(&out, 4096);
	prometheus_rename(plain, sizeof(plain) - 1, naming, &out);
	buf_add(&out, "", 1);
	EQ(buf_err(&out), 0);
	STREQ(out.data, want);
	buf_done(&out);
}

TEST(prometheus_names_stay_as_they_are_unless_asked)
{
	expect(&(struct prometheus_naming){ false, false, "" }, plain);
}

TEST(prometheus_names_get_unit_and_type_and_lines_get_labels)
{
	expect(&(struct prometheus_naming){ true, true, "" },
	       "# HELP otelcol_process_uptime_seconds_total Uptime of the process\n"
	       "# TYPE otelcol_process_uptime_seconds_total counter\notelcol_process_uptime_seconds_total 12.5\n"
	       "# HELP otelcol_exporter_queue_size now {and} then\n# TYPE otelcol_exporter_queue_size gauge\n"
	       "otelcol_exporter_queue_size{exporter=\"a b\"} 3\notelcol_exporter_queue_size{exporter=\"c\"} 4\n");
	expect(&(struct prometheus_naming){ false, false, "x=\"y\"" },
	       "# HELP otelcol_process_uptime Uptime of the process\n# TYPE otelcol_process_uptime counter\n"
	       "otelcol_process_uptime{x=\"y\"} 12.5\n"
	       "# HELP otelcol_exporter_queue_size now {and} then\n# TYPE otelcol_exporter_queue_size gauge\n"
	       "otelcol_exporter_queue_size{x=\"y\",exporter=\"a b\"} 3\n"
	       "otelcol_exporter_queue_size{x=\"y\",exporter=\"c\"} 4\n");
}

TEST(prometheus_names_come_from_what_metrics_render)
{
	_cleanup_(metrics_freep) struct metrics *metrics = metrics_new();
	struct prometheus_naming naming = { true, false, "" };
	struct buf text, out;

	metric_add(metrics_get(metrics, METRIC_COUNTER, "a_count", "first", NULL, 0), 7);
	metric_set(metrics_get(metrics, METRIC_GAUGE, "b", "second", &(struct metric_label){ "k", "v" }, 1), -1);
	buf_init(&text, 4096);
	buf_init(&out, 4096);
	metrics_render(metrics, &text);
	prometheus_rename(text.data, text.len, &naming, &out);
	buf_add(&out, "", 1);
	OK(strstr(out.data, "# HELP a_count_total first\n# TYPE a_count_total counter\na_count_total 7\n"));
	OK(strstr(out.data, "# HELP b second\n# TYPE b gauge\nb{k=\"v\"} -1\n"));
	buf_done(&text);
	buf_done(&out);
}

TEST(prometheus_labels_are_escaped)
{
	struct buf out;

	buf_init(&out, 256);
	prometheus_label(&out, "service.name", "wick");
	prometheus_label(&out, "1\xff", "a\"b\\c\n\xff");
	buf_add(&out, "", 1);
	STREQ(out.data, "service_name=\"wick\",__=\"a\\\"b\\\\c\\n\xef\xbf\xbd\"");
	buf_done(&out);
}
