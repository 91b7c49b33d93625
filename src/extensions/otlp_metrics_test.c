// SPDX-License-Identifier: Apache-2.0
#include "extensions/otlp_metrics.h"

#include <string.h>

#include "base/buf.h"
#include "base/metrics.h"
#include "test.h"
#include "wire/pb.h"

static const struct otlp_metrics_times times = { 3000, 2000, 1000 };

/* A message as text: numbers of fields and what is in them; bytes that are no text are a message, in braces. */
static void describe(struct pb message, struct buf *out, u32 depth)
{
	struct pb_field field;

	while (pb_next(&message, &field)) {
		bool is_text = field.wire == PB_LEN;

		for (const u8 *at = field.body.at; is_text && at < field.body.end; at++)
			is_text = *at >= ' ' && *at < 0x7f;
		buf_addf(out, "%s%u:", out->len && out->data[out->len - 1] != '{' ? " " : "", field.number);
		if (field.wire != PB_LEN)
			buf_addf(out, "%llu", field.value);
		else if (is_text)
			buf_addf(out, "%.*s", (int)pb_left(&field.body), (const char *)field.body.at);
		else if (depth) {
			buf_addf(out, "{");
			describe(field.body, out, depth - 1);
			buf_addf(out, "}");
		}
	}
	EQ(message.err, 0);
}

static void check_encoded(struct metrics *metrics, const struct config_pairs *resource, bool machine_only,
			  const char *expected)
{
	struct buf out, text;

	buf_init(&out, 65536);
	buf_init(&text, 65536);
	otlp_metrics_encode(metrics, &(struct otlp_metrics_options){ resource, machine_only }, &times, &out);
	EQ(buf_err(&out), 0);
	describe(pb_from(out.data, out.len), &text, 8);
	buf_addf(&text, "%s", "");
	STREQ(text.data, expected);
	buf_done(&out);
	buf_done(&text);
}

TEST(metrics_are_sums_and_gauges_of_otlp)
{
	const struct config_pair attribute = { "host.name", "h" };
	struct metrics *metrics = metrics_new();
	struct metric_label labels[] = { { "state", "idle" }, { "process_pid", "7" } };

	metric_add(metrics_get(metrics, METRIC_COUNTER, "system_cpu_time", "help", labels, 2), 1);
	metric_set(metrics_get(metrics, METRIC_GAUGE, "wick_x", "other", NULL, 0), 2);
	check_encoded(metrics, &(struct config_pairs){ 1, &attribute }, false,
		      "1:{1:{1:{1:host.name 2:{1:h}}} 2:{1:{1:wick 2:" WICK_VERSION "} "
		      "2:{1:system.cpu.time 2:help 3:s 7:{1:{2:1000 3:3000 4:4607182418800017408 "
		      "7:{1:state 2:{1:idle}} 7:{1:process.pid 2:{1:7}}} 2:2 3:1}} "
		      "2:{1:wick_metrics_dropped 2:Times a number about wick itself had no room and is shown nowhere "
		      "7:{1:{2:2000 3:3000 4:0} 2:2 3:1}} "
		      "2:{1:wick_x 2:other 5:{1:{3:3000 4:4611686018427387904}}}}}");
	check_encoded(metrics, &(struct config_pairs){ 1, &attribute }, true,
		      "1:{1:{1:{1:host.name 2:{1:h}}} 2:{1:{1:wick 2:" WICK_VERSION "} "
		      "2:{1:system.cpu.time 2:help 3:s 7:{1:{2:1000 3:3000 4:4607182418800017408 "
		      "7:{1:state 2:{1:idle}} 7:{1:process.pid 2:{1:7}}} 2:2 3:1}}}}");
	metrics_free(metrics);
}

TEST(metrics_have_labels_without_escapes)
{
	static const char plain[] = "a\"b\\c\nd\\n";
	struct metrics *metrics = metrics_new();
	struct metric_label label = { "state", plain };
	struct config_pairs nothing = { 0 };
	struct buf out;

	buf_init(&out, 65536);
	metric_add(metrics_get(metrics, METRIC_COUNTER, "x", "help", &label, 1), 1);
	otlp_metrics_encode(metrics, &(struct otlp_metrics_options){ .resource = &nothing }, &times, &out);
	OK(memmem(out.data, out.len, plain, sizeof(plain) - 1));
	buf_done(&out);
	metrics_free(metrics);
}
