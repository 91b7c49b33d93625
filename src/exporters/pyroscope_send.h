/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What sending to Pyroscope adds to sending OTLP: batches become requests that it takes (pyroscope_shape.h), and of its
 * answers follows what was taken.
 *
 *  - A request that is refused as a whole is cut in two, until what is bad is alone, and dropped.
 *  - Of a request that is refused in part (pyroscope_answer.h) only what hit the rate limit, or a fault of the server,
 *    is sent again. Servers before 2.2 do not say which part it was: all of it is sent again, in halves if it was
 *    refused. Profiles that they have already they take for copies.
 *  - 429 is always tried again, with gRPC too, where OTLP wants a RetryInfo that Pyroscope does not send; and so is
 *    500, its status for everything else, unless it says that it cannot convert the data.
 *
 * Belongs to the sender's thread.
 */
#ifndef EXPORTERS_PYROSCOPE_SEND_H
#define EXPORTERS_PYROSCOPE_SEND_H

#include "exporters/otlp_send.h"
#include "exporters/pyroscope_shape.h"

struct metric;

#define PYROSCOPE_ANSWER_BYTES_MAX (1u << 20)

/* The first member of the component. */
struct pyroscope_send {
	struct otlp_send otlp;
	const char *id;
	const struct pyroscope_shape_options *options;
	bool is_indexed;		/* series are numbered as the sets are: no sample attribute splits them */
	bool numbers_all;		/* the server tells the number of each that failed, not 0 for any */
	struct metric *old, *early, *refused, *attributes;
	/* Refused as a whole, one after another; when it is too often, nothing is cut until then. */
	u32 refusals;
	u64 whole_until_ns;
	u64 told_ns;			/* when it was last said in the log that something is too old */
};

extern const struct http_send_ops pyroscope_send_ops;

void pyroscope_send_init(struct pyroscope_send *self, const struct component_setup *setup,
			 const struct pyroscope_shape_options *options);

#endif
