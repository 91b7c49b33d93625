/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a receiver got, as the Collector counts it:
 *
 *	otelcol_receiver_accepted_profile_samples	taken by all that come next
 *	otelcol_receiver_refused_profile_samples	one of them did not take them
 *	otelcol_receiver_failed_profile_samples		could not be read here
 *	otelcol_receiver_requests			by outcome
 *
 * Any thread.
 */
#ifndef RECEIVERS_RECEIPTS_H
#define RECEIVERS_RECEIPTS_H

#include "base/types.h"

struct batch;
struct component_setup;
struct consumers;
struct metric;
struct metrics;

struct receipts {
	const struct consumers *next;
	struct metric *accepted, *refused, *failed;
	struct metric *successes, *refusals, *failures;		/* requests */
};

/* transport: "grpc", "http", or "" for what comes from no network. metrics: service_metrics(). */
void receipts_init(struct receipts *receipts, struct metrics *metrics, const struct component_setup *setup,
		   const char *transport);

/* Sends it on and counts. What consumers_send() returns. */
int receipts_send(const struct receipts *receipts, struct batch *batch);

/* Of something without samples, which is not sent on. */
void receipts_nothing(const struct receipts *receipts);

/* Of something that could not be read; how many samples it held is mostly unknown. */
void receipts_failed(const struct receipts *receipts, u64 samples);

#endif
