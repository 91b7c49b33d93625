// SPDX-License-Identifier: Apache-2.0
/* Hands questions to the backend that a store has. */
#include "store/store.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "store/backend.h"

void store_close(struct store *store)
{
	if (store)
		store->ops->free(store);
}

const char *store_backend(const struct store *store)
{
	return store->ops->name;
}

bool store_has_labels(const struct store *store)
{
	return store->ops->has_labels;
}

const char *store_host(const struct store *store)
{
	return store->host;
}

const char *store_directory(const struct store *store)
{
	return store->directory;
}

void store_explain(struct store *store, struct buf *why)
{
	if (store->ops->explain)
		store->ops->explain(store, why);
}

/* ---- Queries -------------------------------------------------------------------------- */

int store_flame(struct store *store, const struct store_selection *selection, enum store_label group_by,
		struct calltree **ret_flame)
{
	return store->ops->flame(store, selection, group_by, 0, ret_flame);
}

int store_flame_largest(struct store *store, const struct store_selection *selection, u32 nodes_max,
			struct calltree **ret_flame)
{
	return store->ops->flame(store, selection, STORE_LABEL_COUNT, nodes_max, ret_flame);
}

int store_profile(struct store *store, const struct store_selection *selection, const struct narrow *narrow,
		  struct profile **ret_profile, struct buf *why)
{
	return store->ops->profile ? store->ops->profile(store, selection, narrow, ret_profile, why) : -EOPNOTSUPP;
}

int store_chart(struct store *store, const struct store_selection *selection, enum store_label by, u32 bucket_count,
		u32 lines_max, struct store_chart *ret_chart)
{
	if (!bucket_count || selection->to_ns <= selection->from_ns)
		return -EINVAL;
	if (selection->narrow && !store->ops->narrows)
		return -EOPNOTSUPP;
	return store->ops->chart(store, selection, by, bucket_count, lines_max, ret_chart);
}

int store_heat(struct store *store, const struct store_selection *selection, u32 rows, struct store_heat *ret_heat)
{
	u64 from_ns = selection->from_ns - selection->from_ns % SECOND_NS;
	u64 seconds = (selection->to_ns - from_ns + SECOND_NS - 1) / SECOND_NS;
	struct store_heat heat = { .from_ns = from_ns, .rows = rows };
	int r;

	if (selection->to_ns <= from_ns || !rows || rows > 1000 || seconds > 86400)
		return -EINVAL;
	heat.seconds = (u32)seconds;
	heat.cells = calloc((size_t)seconds * rows, sizeof(*heat.cells));
	if (!heat.cells)
		return -ENOMEM;
	r = store->ops->heat(store, selection, &heat);
	if (r < 0)
		store_heat_done(&heat);
	else
		*ret_heat = heat;
	return r;
}

int store_lanes(struct store *store, const struct store_selection *selection,
		const struct store_lanes_options *options, struct store_lanes *ret_lanes)
{
	if (selection->to_ns <= selection->from_ns || !options->buckets || !options->lanes_max)
		return -EINVAL;
	return store->ops->lanes ? store->ops->lanes(store, selection, options, ret_lanes) : -EOPNOTSUPP;
}

int store_values(struct store *store, const struct store_selection *selection, enum store_label label, u32 max,
		 struct store_values *ret_values)
{
	if (selection->narrow && !store->ops->narrows)
		return -EOPNOTSUPP;
	return store->ops->values(store, selection, label, max, ret_values);
}

int store_traces(struct store *store, const struct store_selection *selection, bool by_span, u32 max,
		 struct store_traces *ret_traces)
{
	return store->ops->traces(store, selection, by_span, max, ret_traces);
}

int series_read(struct store *store, const char *host, u64 from_ns, u64 to_ns, u32 rows_max,
		struct series_rows *ret_rows)
{
	return store->ops->series(store, host, from_ns, to_ns, rows_max, ret_rows);
}

int store_stats(struct store *store, struct store_stats *ret_stats)
{
	return store->ops->stats(store, ret_stats);
}

u64 store_generation(struct store *store)
{
	return store->ops->generation(store);
}

/* ---- What they gave ---------------------------------------------------------------------- */

void store_chart_done(struct store_chart *chart)
{
	for (u32 i = 0; i < chart->line_count; i++) {
		free(chart->lines[i].name);
		free(chart->lines[i].buckets);
	}
	free(chart->lines);
	free(chart->watched);
	*chart = (struct store_chart){ 0 };
}

void store_heat_done(struct store_heat *heat)
{
	free(heat->cells);
	*heat = (struct store_heat){ 0 };
}

void store_lanes_done(struct store_lanes *lanes)
{
	for (u32 i = 0; i < lanes->count; i++) {
		free(lanes->at[i].host);
		free(lanes->at[i].process);
		free(lanes->at[i].pid);
		free(lanes->at[i].thread);
		free(lanes->at[i].cells);
	}
	free(lanes->at);
	for (u32 i = 0; lanes->queue_names && i < lanes->queue.group_count; i++)
		free(lanes->queue_names[i]);
	free(lanes->queue_names);
	queue_waits_done(&lanes->queue);
	*lanes = (struct store_lanes){ 0 };
}

void store_values_done(struct store_values *values)
{
	for (u32 i = 0; i < values->count; i++)
		free(values->at[i].text);
	free(values->at);
	*values = (struct store_values){ 0 };
}

void store_trace_done(struct store_trace *trace)
{
	free(trace->host);
	free(trace->service);
	free(trace->process);
}

void store_traces_done(struct store_traces *traces)
{
	for (u32 i = 0; i < traces->count; i++)
		store_trace_done(&traces->at[i]);
	free(traces->at);
	*traces = (struct store_traces){ 0 };
}
