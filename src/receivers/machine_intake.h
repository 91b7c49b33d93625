/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the bytes of an OTLP request of metrics to rows about hosts in the stores that are open here. What is no
 * machine's, or cannot be, is counted and otherwise taken: a sender shall not try again.
 *
 *	otelcol_receiver_accepted_metric_points		points that rows are made of
 *	wick_receiver_ignored_metric_points		those that are not, by reason
 *	wick_receiver_machine_rows			that were kept
 *	wick_receiver_machine_samples_refused		of a host and a time, by reason (receivers/host_series.h)
 *
 * Any thread.
 */
#ifndef RECEIVERS_MACHINE_INTAKE_H
#define RECEIVERS_MACHINE_INTAKE_H

#include "receivers/host_series.h"
#include "wire/otlp/rpc_status.h"

struct buf;
struct metric;
struct metrics;

enum { IGNORED_OTHER, IGNORED_VALUE, IGNORED_TOO_MANY, IGNORED_COUNT };

struct machine_intake {
	struct host_series *series;
	struct metric *accepted, *rows;
	struct metric *ignored[IGNORED_COUNT], *refused[HOST_SERIES_REFUSAL_COUNT];
};

/* receiver: its id; series is borrowed. */
void machine_intake_init(struct machine_intake *intake, struct host_series *series, struct metrics *metrics,
			 const char *receiver, const char *transport);

/* Is there a store that keeps rows? */
bool machine_intake_is_open(void);

/* Takes over what is in message. `why` gets a sentence unless it is RPC_OK. */
enum rpc_code machine_intake_take(struct machine_intake *intake, struct buf *message, bool json, u64 sender,
				  struct buf *why);

#endif
