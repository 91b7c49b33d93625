// SPDX-License-Identifier: Apache-2.0
#include "extensions/zpages_html.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/buf.h"
#include "extensions/gotime.h"
#include "extensions/metric_text.h"
#include "pipeline/registry.h"
#include "pipeline/status.h"

#define MS 1000000ull
#define SECOND (1000 * MS)

static const char style[] =
	":root{color-scheme:light dark;--fg:#1d2733;--dim:#5b6b7b;--bg:#f6f7f9;--card:#fff;--line:#dfe4ea;"
	"--accent:#b4530a;--ok:#1a7f4b;--warn:#9a6700;--bad:#c4302b}"
	"@media(prefers-color-scheme:dark){:root{--fg:#e3e8ee;--dim:#93a1b0;--bg:#12171d;--card:#1a2129;"
	"--line:#2c3742;--accent:#ff9f4a;--ok:#4cc38a;--warn:#e3b341;--bad:#ff7b72}}"
	"*{box-sizing:border-box}body{margin:0;background:var(--bg);color:var(--fg);"
	"font:15px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif}"
	"header{display:flex;flex-wrap:wrap;gap:.4rem 1.2rem;align-items:baseline;padding:.8rem 1.5rem;"
	"background:var(--card);border-bottom:1px solid var(--line)}header b{color:var(--accent);font-size:1.15rem}"
	"a{color:inherit}header a{text-decoration:none;color:var(--dim)}"
	"header a:hover,header a[aria-current]{color:var(--fg);text-decoration:underline;"
	"text-underline-offset:.3em;text-decoration-color:var(--accent)}"
	"main{padding:1rem 1.5rem 3rem;max-width:76rem;margin:auto}h1{font-size:1.3rem;margin:.6rem 0}"
	"h2{font-size:1.05rem;margin:1.6rem 0 .5rem}"
	".card{background:var(--card);border:1px solid var(--line);border-radius:8px;overflow-x:auto;"
	"margin-bottom:1rem}table{border-collapse:collapse;width:100%}"
	"th,td{text-align:left;vertical-align:top;padding:.4rem .9rem;border-top:1px solid var(--line)}"
	"thead th,table>tbody:first-child tr:first-child>*{border-top:0}"
	"th{color:var(--dim);font-weight:600;white-space:nowrap}tbody th{width:9rem}"
	"code{font-family:ui-monospace,'DejaVu Sans Mono',monospace;font-size:.92em}"
	".flow{display:flex;flex-wrap:wrap;gap:.5rem;align-items:center;padding:.8rem .9rem}"
	".flow>span{color:var(--dim)}.step{border:1px solid var(--line);border-radius:6px;padding:.3rem .6rem}"
	".step small{display:block;color:var(--dim);font-variant-numeric:tabular-nums}"
	".dot{display:inline-block;width:.6em;height:.6em;border-radius:50%;margin-right:.45em;background:var(--dim)}"
	".ok{background:var(--ok)}.warn{background:var(--warn)}.bad{background:var(--bad)}.error{color:var(--bad)}"
	".dim{color:var(--dim)}.step .error{color:var(--bad)}td:nth-child(-n+4){white-space:nowrap}";

static const struct { const char *path, *title; } pages[] = {
	{ "/debug/servicez", "Service" },
	{ "/debug/pipelinez", "Pipelines" },
	{ "/debug/extensionz", "Extensions" },
	{ "/debug/featurez", "Features" },
};

/* ---- Pieces -------------------------------------------------------------------------- */

static void text(struct buf *out, const char *value)
{
	for (const char *c = value; *c; c++) {
		switch (*c) {
		case '&': buf_addf(out, "&amp;"); break;
		case '<': buf_addf(out, "&lt;"); break;
		case '>': buf_addf(out, "&gt;"); break;
		case '"': buf_addf(out, "&quot;"); break;
		case '\'': buf_addf(out, "&#39;"); break;
		default: buf_add(out, (unsigned char)*c < 0x20 ? "?" : c, 1);
		}
	}
}

static void page_begin(struct buf *out, const char *title)
{
	buf_addf(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		 "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		 "<title>wick: %s</title>\n", title);
	buf_addf(out, "<style>%s</style>\n</head>\n<body>\n<header><b>wick</b>", style);
	for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++)
		buf_addf(out, " <a href=\"%s\"%s>%s</a>", pages[i].path,
			 strcmp(pages[i].title, title) ? "" : " aria-current=\"page\"", pages[i].title);
	buf_addf(out, "</header>\n<main>\n<h1>%s</h1>\n", title);
}

static void page_end(struct buf *out)
{
	buf_addf(out, "</main>\n</body>\n</html>\n");
}

static void row(struct buf *out, const char *key, const char *value)
{
	buf_addf(out, "<tr><th scope=\"row\">%s</th><td>", key);
	text(out, value);
	buf_addf(out, "</td></tr>\n");
}

static void number_row(struct buf *out, const char *key, double value, const char *unit)
{
	buf_addf(out, "<tr><th scope=\"row\">%s</th><td>%.4g%s</td></tr>\n", key, value, unit);
}

static const char *dot_of(enum health health)
{
	switch (health) {
	case HEALTH_OK: return "ok";
	case HEALTH_RECOVERABLE: return "warn";
	case HEALTH_PERMANENT: return "bad";
	default: return "";
	}
}

static void dot(struct buf *out, enum health health)
{
	buf_addf(out, "<span class=\"dot %s\" title=\"%s\"></span>", dot_of(health), health_name(health));
}

/* The number of a component's metric, if it has one. */
static void count(const struct zpages_view *view, struct buf *out, const char *metric, const char *key,
		  const char *id, const char *what)
{
	double value;

	if (metric_text_sum(view->metrics, metric, key, id, &value))
		buf_addf(out, "<small>%s %.0f</small>", what, value);
}

/* The same for what is only worth a line if it happened. */
static void trouble(const struct zpages_view *view, struct buf *out, const char *metric, const char *key,
		    const char *id, const char *what)
{
	double value;

	if (metric_text_sum(view->metrics, metric, key, id, &value) && value > 0)
		buf_addf(out, "<small class=\"error\">%s %.0f</small>", what, value);
}

/* ---- Service --------------------------------------------------------------------------- */

static void component_row(const struct component_view *c, struct buf *out)
{
	char when[GOTIME_MAX];

	buf_addf(out, "<tr><td>%s</td><td><code>", component_kind_name(c->kind));
	text(out, c->id);
	buf_addf(out, "</code></td><td><code>");
	text(out, c->pipeline);
	buf_addf(out, "</code></td><td>");
	dot(out, c->health);
	buf_addf(out, "%s</td><td class=\"%s\">", health_name(c->health),
		 c->health == HEALTH_PERMANENT || c->health == HEALTH_RECOVERABLE ? "error" : "dim");
	text(out, c->last_error);
	if (c->last_error[0])
		buf_addf(out, " <span class=\"dim\">(%s)</span>",
			 gotime_stamp(when, c->last_error_unix_ns / SECOND * SECOND));
	buf_addf(out, "</td></tr>\n");
}

static void component_table(const struct zpages_view *view, bool extensions, struct buf *out)
{
	buf_addf(out, "<div class=\"card\"><table>\n<thead><tr><th>Kind</th><th>Name</th><th>Pipeline</th>"
		 "<th>Health</th><th>Last error</th></tr></thead>\n<tbody>\n");
	for (u32 i = 0; i < view->component_count; i++)
		if ((view->components[i].kind == COMPONENT_EXTENSION) == extensions)
			component_row(&view->components[i], out);
	buf_addf(out, "</tbody></table></div>\n");
}

static void runtime_rows(const struct zpages_view *view, struct buf *out)
{
	char stamp[GOTIME_MAX];
	struct utsname os;
	double value;

	row(out, "Started", gotime_stamp(stamp, view->started_unix_ns / SECOND * SECOND));
	row(out, "Uptime", gotime_duration(stamp, (view->now_unix_ns - view->started_unix_ns) / MS * MS));
	(void)snprintf(stamp, sizeof(stamp), "%d", getpid());
	row(out, "Process id", stamp);
	if (metric_text_sum(view->metrics, "otelcol_process_memory_rss", NULL, NULL, &value))
		number_row(out, "Memory", value / (1 << 20), " MiB");
	if (metric_text_sum(view->metrics, "otelcol_process_cpu_seconds", NULL, NULL, &value))
		number_row(out, "CPU time", value, " s");
	if (uname(&os) == 0) {
		row(out, "Host", os.nodename);
		row(out, "Kernel", os.release);
		row(out, "Machine", os.machine);
	}
}

void zpages_service(const struct zpages_view *view, struct buf *out)
{
	page_begin(out, "Service");
	buf_addf(out, "<div class=\"card\"><table><tbody>\n");
	row(out, "Version", WICK_VERSION);
	runtime_rows(view, out);
	buf_addf(out, "</tbody></table></div>\n<h2>Components</h2>\n");
	component_table(view, false, out);
	buf_addf(out, "<h2>Extensions</h2>\n");
	component_table(view, true, out);
	page_end(out);
}

/* ---- Pipelines ---------------------------------------------------------------------------- */

static const struct component_view *find(const struct zpages_view *view, enum component_kind kind, const char *id,
					 const char *pipeline)
{
	for (u32 i = 0; i < view->component_count; i++) {
		const struct component_view *c = &view->components[i];

		if ((c->kind == kind || c->kind == COMPONENT_CONNECTOR) && !strcmp(c->id, id) &&
		    (kind != COMPONENT_PROCESSOR || !strcmp(c->pipeline, pipeline)))
			return c;
	}
	return NULL;
}

static void counts_of(const struct zpages_view *view, enum component_kind kind, const char *id, struct buf *out)
{
	double size, capacity;

	if (kind == COMPONENT_RECEIVER) {
		count(view, out, "otelcol_receiver_accepted_profile_samples", "receiver", id, "accepted");
		trouble(view, out, "otelcol_receiver_refused_profile_samples", "receiver", id, "refused");
	} else if (kind == COMPONENT_PROCESSOR) {
		count(view, out, "otelcol_processor_incoming_items", "processor", id, "in");
		count(view, out, "otelcol_processor_outgoing_items", "processor", id, "out");
	} else {
		count(view, out, "otelcol_exporter_sent_profile_samples", "exporter", id, "sent");
		trouble(view, out, "otelcol_exporter_send_failed_profile_samples", "exporter", id, "failed");
		trouble(view, out, "otelcol_exporter_enqueue_failed_profile_samples", "exporter", id, "not queued");
		if (metric_text_sum(view->metrics, "otelcol_exporter_queue_size", "exporter", id, &size) &&
		    metric_text_sum(view->metrics, "otelcol_exporter_queue_capacity", "exporter", id, &capacity))
			buf_addf(out, "<small>queue %.0f of %.0f</small>", size, capacity);
	}
}

static void steps(const struct zpages_view *view, const struct pipeline_view *pipeline, enum component_kind kind,
		  const struct config_node *ids, struct buf *out)
{
	for (u32 i = 0; ids && ids->kind == NODE_LIST && i < ids->count; i++) {
		const char *id = ids->list[i]->text ? ids->list[i]->text : "";
		const struct component_view *c = find(view, kind, id, pipeline->id);

		if (kind == COMPONENT_PROCESSOR)
			buf_addf(out, "<span>&rarr;</span>");
		buf_addf(out, "<div class=\"step\">");
		dot(out, c ? c->health : HEALTH_STOPPED);
		buf_addf(out, "<code>");
		text(out, id);
		buf_addf(out, "</code>");
		counts_of(view, kind, id, out);
		buf_addf(out, "</div>");
	}
}

void zpages_pipelines(const struct zpages_view *view, struct buf *out)
{
	page_begin(out, "Pipelines");
	for (u32 i = 0; i < view->pipeline_count; i++) {
		const struct pipeline_view *p = &view->pipelines[i];

		buf_addf(out, "<h2><code>");
		text(out, p->id);
		buf_addf(out, "</code></h2>\n<div class=\"card flow\">");
		steps(view, p, COMPONENT_RECEIVER, p->receivers, out);
		steps(view, p, COMPONENT_PROCESSOR, p->processors, out);
		buf_addf(out, "<span>&rarr;</span>");
		steps(view, p, COMPONENT_EXPORTER, p->exporters, out);
		buf_addf(out, "</div>\n");
	}
	buf_addf(out, "<p class=\"dim\">Numbers are samples since the start.</p>\n<h2>Components</h2>\n");
	component_table(view, false, out);
	page_end(out);
}

/* ---- The rest ------------------------------------------------------------------------------- */

void zpages_extensions(const struct zpages_view *view, struct buf *out)
{
	page_begin(out, "Extensions");
	component_table(view, true, out);
	page_end(out);
}

void zpages_features(const struct zpages_view *view, struct buf *out)
{
	page_begin(out, "Features");
	buf_addf(out, "<div class=\"card\"><table>\n"
		 "<thead><tr><th>Gate</th><th>Enabled</th><th>Description</th></tr></thead>\n"
		 "<tbody><tr><td><code>service.profilesSupport</code></td><td>true</td>"
		 "<td>Pipelines of profiles; here they need no gate</td></tr></tbody></table></div>\n");
	page_end(out);
}

void zpages_index(const struct zpages_view *view, struct buf *out)
{
	page_begin(out, "Status");
	buf_addf(out, "<div class=\"card\"><table><tbody>\n");
	for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++)
		buf_addf(out, "<tr><td><a href=\"%s\">%s</a></td></tr>\n", pages[i].path, pages[i].title);
	buf_addf(out, "</tbody></table></div>\n");
	page_end(out);
}
