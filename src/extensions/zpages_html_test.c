// SPDX-License-Identifier: Apache-2.0
#include "extensions/zpages_html.h"

#include "base/buf.h"
#include "test.h"

#define LIST_OF(name) \
	{ .kind = NODE_LIST, .count = 1, \
	  .list = (struct config_node *[]){ &(struct config_node){ .kind = NODE_STRING, .text = name } } }

static const struct component_view components[] = {
	{ .kind = COMPONENT_RECEIVER, .id = "otlp", .type = "otlp", .pipeline = "", .health = HEALTH_OK },
	{ .kind = COMPONENT_PROCESSOR, .id = "batch", .type = "batch", .pipeline = "profiles", .health = HEALTH_OK },
	{ .kind = COMPONENT_EXPORTER, .id = "otlp/<b>", .type = "otlp", .pipeline = "", .health = HEALTH_RECOVERABLE,
	  .last_error = "said \"<script>\" & 'left'\n", .last_error_unix_ns = 1663131734000000000 },
	{ .kind = COMPONENT_EXTENSION, .id = "zpages", .type = "zpages", .pipeline = "", .health = HEALTH_OK },
};

static const char metrics[] = "otelcol_receiver_accepted_profile_samples{receiver=\"otlp\",transport=\"grpc\"} 40\n"
			      "otelcol_receiver_accepted_profile_samples{receiver=\"otlp\",transport=\"http\"} 2\n"
			      "otelcol_receiver_refused_profile_samples{receiver=\"otlp\",transport=\"http\"} 0\n"
			      "otelcol_exporter_send_failed_profile_samples{exporter=\"otlp/<b>\"} 9\n"
			      "otelcol_exporter_queue_size{exporter=\"otlp/<b>\",data_type=\"profiles\"} 3\n"
			      "otelcol_exporter_queue_capacity{exporter=\"otlp/<b>\",data_type=\"profiles\"} 1000\n";

static const char *render(void (*page)(const struct zpages_view *, struct buf *))
{
	static struct buf out;
	struct config_node receivers = LIST_OF("otlp");
	struct config_node processors = LIST_OF("batch");
	struct config_node exporters = LIST_OF("otlp/<b>");
	struct pipeline_view pipelines[] = { { "profiles", &receivers, &processors, &exporters },
					     { "profiles/2", &receivers, NULL, &exporters } };
	struct zpages_view view = { components, 4, pipelines, 2, metrics, 1000000000, 3500000000 };

	buf_done(&out);
	buf_init(&out, 1 << 20);
	page(&view, &out);
	buf_add(&out, "", 1);
	EQ(buf_err(&out), 0);
	return out.data;
}

TEST(zpages_escape_what_they_show)
{
	const char *html = render(zpages_service);

	OK(strstr(html, "said &quot;&lt;script&gt;&quot; &amp; &#39;left&#39;?"));
	OK(strstr(html, "otlp/&lt;b&gt;"));
	OK(!strstr(html, "<script>"));
	OK(strstr(html, "(2022-09-14T05:02:14Z)"));
	OK(strstr(html, "recoverable error"));
	OK(strstr(html, "<td>2.5s</td>"));
}

TEST(zpages_show_pipelines_with_their_numbers)
{
	const char *html = render(zpages_pipelines);

	OK(strstr(html, "<code>otlp</code><small>accepted 42</small>"));
	OK(strstr(html, "<small>queue 3 of 1000</small>"));
	OK(strstr(html, "<small class=\"error\">failed 9</small>"));
	OK(!strstr(html, "refused"));
	OK(strstr(html, "<h2><code>profiles/2</code></h2>"));
	OK(strstr(html, "<code>batch</code>"));
}

TEST(zpages_list_extensions_apart)
{
	const char *html = render(zpages_extensions);

	OK(strstr(html, "zpages") && !strstr(html, "<code>batch</code>"));
	OK(strstr(render(zpages_features), "service.profilesSupport"));
	OK(strstr(render(zpages_index), "/debug/pipelinez"));
}
