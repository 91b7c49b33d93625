// SPDX-License-Identifier: Apache-2.0
#include "web/status.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "agent/governor.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json_write.h"
#include "base/metrics.h"
#include "base/sender_time.h"
#include "extensions/metric_text.h"
#include "pipeline/arrivals.h"
#include "pipeline/service.h"
#include "pipeline/taps.h"
#include "store/store.h"
#include "tracer/counters.h"
#include "web/api.h"
#include "web/call.h"

#define METRICS_BYTES_MAX ((size_t)16 << 20)

static void put_text(struct json_write *j, const char *key, const char *text)
{
	json_write_key(j, key);
	json_write_string(j, text, strlen(text));
}

static void put_number(struct json_write *j, const char *key, double value)
{
	json_write_key(j, key);
	json_write_double(j, value);
}

/* What sampling leaves out now to stay within its budget, "" for nothing; and whether senders are to come later. */
static void put_left_out(struct json_write *j, const struct counter_value *values, size_t count)
{
	const char *text = "";

	for (size_t i = 0; i < count; i++)
		if (!strcmp(values[i].name, "governor_step") && values[i].value)
			text = governor_text(values[i].value);
	json_write_key(j, "left_out");
	json_write_string(j, text, strlen(text));
	json_write_key(j, "turns_senders_away");
	json_write_bool(j, sender_time_tell(monotonic_ns()).turns_away);
}

/* What is counted where this machine is sampled; [] where it is not. */
static void put_sampling(struct json_write *j, struct taps *taps)
{
	static const char *const kinds[] = { [COUNT_NEUTRAL] = "", [COUNT_SHORT] = "short", [COUNT_LOSS] = "loss" };
	struct counter_value values[COUNTER_VALUES_MAX];
	size_t count = taps && taps_frequency(taps) ? taps_counters(taps, values, COUNTER_VALUES_MAX) : 0;

	json_write_key(j, "sampling");
	json_write_open(j, '[');
	for (size_t i = 0; i < count; i++) {
		const struct counter_value *v = &values[i];
		const char *texts[][2] = { { "name", v->name }, { "of", v->of ? v->of : "" },
					   { "label", v->label ? v->label : "" }, { "kind", kinds[v->kind] },
					   { "text", v->text } };

		if (!v->value)
			continue;
		json_write_open(j, '{');
		for (u32 k = 0; k < sizeof(texts) / sizeof(texts[0]); k++) {
			json_write_key(j, texts[k][0]);
			json_write_string(j, texts[k][1], strlen(texts[k][1]));
		}
		put_number(j, "value", (double)v->value);
		json_write_close(j, '}');
	}
	json_write_close(j, ']');
	put_left_out(j, values, count);
}

/* What is left on the file system that the store is on. */
static void put_disk(struct json_write *j, const struct store *store)
{
	const char *directory = store_directory(store);
	struct statvfs disk;

	if (!directory || statvfs(directory, &disk) < 0)
		return;
	put_number(j, "disk_bytes", (double)disk.f_blocks * (double)disk.f_frsize);
	put_number(j, "disk_free", (double)disk.f_bavail * (double)disk.f_frsize);
}

/* ---- The others -------------------------------------------------------------------------------- */

static const struct {
	enum component_kind kind;
	const char *name, *label, *metric;
} component_numbers[] = {
	{ COMPONENT_RECEIVER, "accepted", "receiver", "otelcol_receiver_accepted_profile_samples" },
	{ COMPONENT_RECEIVER, "refused", "receiver", "otelcol_receiver_refused_profile_samples" },
	{ COMPONENT_EXPORTER, "queue", "exporter", "otelcol_exporter_queue_size" },
	{ COMPONENT_EXPORTER, "queue_max", "exporter", "otelcol_exporter_queue_capacity" },
	{ COMPONENT_EXPORTER, "sent", "exporter", "otelcol_exporter_sent_profile_samples" },
	{ COMPONENT_EXPORTER, "failed", "exporter", "otelcol_exporter_send_failed_profile_samples" },
	{ COMPONENT_EXPORTER, "not_queued", "exporter", "otelcol_exporter_enqueue_failed_profile_samples" },
};

static void put_component(struct json_write *j, const struct component_view *view, const char *metrics)
{
	static const char *const kinds[] = { [COMPONENT_RECEIVER] = "receiver", [COMPONENT_PROCESSOR] = "processor",
					     [COMPONENT_EXPORTER] = "exporter", [COMPONENT_CONNECTOR] = "connector",
					     [COMPONENT_EXTENSION] = "extension" };

	json_write_open(j, '{');
	put_text(j, "kind", kinds[view->kind]);
	put_text(j, "id", view->id);
	put_text(j, "health", health_name(view->health));
	put_text(j, "error", view->last_error);
	put_number(j, "error_time", (double)view->last_error_unix_ns / 1e9);
	for (u32 i = 0; i < sizeof(component_numbers) / sizeof(component_numbers[0]); i++) {
		double value;

		if (component_numbers[i].kind == view->kind &&
		    metric_text_sum(metrics, component_numbers[i].metric, component_numbers[i].label, view->id, &value))
			put_number(j, component_numbers[i].name, value);
	}
	json_write_close(j, '}');
}

static int put_components(struct json_write *j, struct service *service)
{
	_cleanup_(buf_done) struct buf metrics;
	struct component_view view;

	buf_init(&metrics, METRICS_BYTES_MAX);
	if (!service)
		return 0;
	metrics_render(service_metrics(service), &metrics);
	buf_add(&metrics, "", 1);
	if (buf_err(&metrics) < 0)
		return buf_err(&metrics);
	put_number(j, "started", (double)service_started_unix_ns(service) / 1e9);
	json_write_key(j, "components");
	json_write_open(j, '[');
	for (u32 i = 0; service_component(service, i, &view) == 0; i++)
		put_component(j, &view, metrics.data);
	json_write_close(j, ']');
	return 0;
}

static int put_senders(struct json_write *j, struct arrivals *arrivals)
{
	_cleanup_(freep) struct arrivals_sender *at = reallocarray(NULL, ARRIVALS_SENDERS_MAX, sizeof(*at));
	u32 count = at ? arrivals_senders(arrivals, ARRIVALS_SENDERS_MAX, at) : 0;

	if (!at)
		return -ENOMEM;
	json_write_key(j, "senders");
	json_write_open(j, '[');
	for (u32 i = 0; i < count; i++) {
		json_write_open(j, '{');
		put_text(j, "peer", at[i].peer);
		put_text(j, "agent", at[i].agent);
		put_text(j, "to", at[i].component);
		put_number(j, "first", (double)at[i].first_ns / 1e9);
		put_number(j, "last", (double)at[i].last_ns / 1e9);
		put_number(j, "requests", (double)at[i].requests);
		put_number(j, "refused", (double)at[i].refused);
		put_number(j, "samples", (double)at[i].samples);
		json_write_close(j, '}');
	}
	json_write_close(j, ']');
	return 0;
}

int status_answer(struct api_call *c)
{
	static const char *const levels[DB_LEVELS] = { "windows", "1 m", "10 m", "1 h" };
	struct json_write j = { .b = c->answer->body };
	struct store_stats stats;
	int r = store_stats(c->store, &stats);

	if (r < 0)
		return r;
	json_write_open(&j, '{');
	json_write_key(&j, "backend");
	json_write_string(&j, store_backend(c->store), strlen(store_backend(c->store)));
	json_write_key(&j, "version");
	json_write_string(&j, WICK_VERSION, strlen(WICK_VERSION));
	put_number(&j, "now", (double)c->now_ns / 1e9);
	put_number(&j, "generation", (double)stats.generation);
	put_number(&j, "bytes", (double)stats.bytes);
	put_number(&j, "bytes_max", (double)stats.bytes_max);
	put_number(&j, "nodes", (double)stats.nodes);
	put_number(&j, "frames", (double)stats.frames);
	put_number(&j, "series", (double)stats.series);
	put_number(&j, "epochs", stats.epochs);
	put_number(&j, "blocks_broken", (double)stats.blocks_broken);
	put_number(&j, "late_names", (double)stats.names.named);
	put_number(&j, "late_addresses", (double)stats.names.addresses);
	put_number(&j, "late_addresses_left_out", (double)stats.names.left_out);
	put_number(&j, "times_wrong", (double)stats.times_wrong);
	put_number(&j, "labels_past_limit", (double)stats.labels_past_limit);
	put_number(&j, "labels_rolled_up", (double)stats.labels_rolled_up);
	json_write_key(&j, "levels");
	json_write_open(&j, '[');
	for (u32 i = 0; i < DB_LEVELS; i++) {
		json_write_open(&j, '{');
		json_write_key(&j, "name");
		json_write_string(&j, levels[i], strlen(levels[i]));
		put_number(&j, "blocks", (double)stats.levels[i].blocks);
		put_number(&j, "bytes", (double)stats.levels[i].bytes);
		put_number(&j, "rows", (double)stats.levels[i].rows);
		put_number(&j, "first", (double)stats.levels[i].first_ns / 1e9);
		put_number(&j, "last", (double)stats.levels[i].last_ns / 1e9);
		json_write_close(&j, '}');
	}
	json_write_close(&j, ']');
	put_disk(&j, c->store);
	put_sampling(&j, c->taps);
	r = put_components(&j, c->service);
	if (r == 0)
		r = put_senders(&j, c->arrivals);
	json_write_close(&j, '}');
	return r;
}
