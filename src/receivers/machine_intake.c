// SPDX-License-Identifier: Apache-2.0
#include "receivers/machine_intake.h"

#include <errno.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/metrics.h"
#include "receivers/machine.h"
#include "store/shared.h"
#include "wire/otlp/machine_metrics.h"

void machine_intake_init(struct machine_intake *intake, struct host_series *series, struct metrics *metrics,
			 const char *receiver, const char *transport)
{
	static const char *const reasons[IGNORED_COUNT] = { "other_metric", "value", "too_many" };
	struct metric_label labels[] = { { "receiver", receiver }, { "transport", transport }, { "reason", NULL } };

	intake->series = series;
	intake->accepted = metrics_get(metrics, METRIC_COUNTER, "otelcol_receiver_accepted_metric_points",
				       "Points of metrics that tell of hosts, for the charts of the page.", labels, 2);
	intake->rows = metrics_get(metrics, METRIC_COUNTER, "wick_receiver_machine_rows",
				   "Rows about hosts that were made of metrics, and kept.", labels, 2);
	for (u32 i = 0; i < IGNORED_COUNT; i++) {
		labels[2].value = reasons[i];
		intake->ignored[i] = metrics_get(metrics, METRIC_COUNTER, "wick_receiver_ignored_metric_points",
						 "Points of metrics that were taken but are not kept.", labels, 3);
	}
	for (u32 i = 0; i < HOST_SERIES_REFUSAL_COUNT; i++) {
		labels[2].value = host_series_refusal_names[i];
		intake->refused[i] = metrics_get(metrics, METRIC_COUNTER, "wick_receiver_machine_samples_refused",
						 "What a host told of a time, and became no row.", labels, 3);
	}
}

bool machine_intake_is_open(void)
{
	_cleanup_(store_releasep) struct store *store = store_borrow("");

	return store;
}

static int keep(void *arg, const struct series_other *other, const struct series_row *row)
{
	(void)arg;
	return series_add_other_all(other, row);
}

static void make_rows(struct machine_intake *intake, const struct machine_metrics *metrics, u64 sender)
{
	_cleanup_(store_releasep) struct store *store = store_borrow("");
	struct host_series_told told = { 0 };

	if (!store)
		return;
	host_series_take(intake->series, metrics, &(struct host_series_options){
		.sender = sender,
		.own_host = machine_is_sampled() ? store_host(store) : "",
		.now_ns = clock_ns(CLOCK_REALTIME),
		.monotonic_ns = monotonic_ns(),
		.keep = keep,
	}, &told);
	metric_add(intake->rows, told.rows);
	for (u32 i = 0; i < HOST_SERIES_REFUSAL_COUNT; i++)
		metric_add(intake->refused[i], told.refused[i]);
}

static int read_json(const struct buf *message, struct machine_metrics *ret_metrics)
{
	_cleanup_(buf_done) struct buf made;
	int r;

	/* Tags are shorter than names of members; where there are none, as in [{},{}], two bytes stand for three. */
	buf_init(&made, 2 * message->len + 64);
	r = machine_metrics_from_json(message->data, message->len, &made);
	return r < 0 ? r : machine_metrics_decode(made.data, made.len, ret_metrics);
}

enum rpc_code machine_intake_take(struct machine_intake *intake, struct buf *message, bool json, u64 sender,
				  struct buf *why)
{
	struct machine_metrics metrics;
	int r = json ? read_json(message, &metrics) : machine_metrics_decode(message->data, message->len, &metrics);

	buf_done(message);
	if (r == -ENOMEM || r == -ECANCELED) {
		buf_addf(why, "out of memory, try again later");
		return RPC_UNAVAILABLE;
	}
	if (r < 0) {
		buf_addf(why, r == -E2BIG ? "the request is too large" : "not OTLP metrics");
		return r == -E2BIG ? RPC_RESOURCE_EXHAUSTED : RPC_INVALID_ARGUMENT;
	}
	metric_add(intake->accepted, metrics.taken);
	metric_add(intake->ignored[IGNORED_OTHER], metrics.ignored);
	metric_add(intake->ignored[IGNORED_VALUE], metrics.wrong);
	metric_add(intake->ignored[IGNORED_TOO_MANY], metrics.left_out);
	make_rows(intake, &metrics, sender);
	machine_metrics_done(&metrics);
	return RPC_OK;
}
