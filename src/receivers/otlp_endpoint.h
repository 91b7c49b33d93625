/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One protocol of the receiver `otlp`: its listener, who may send, and the
 * handlers of its routes. What HTTP and gRPC have in common is here:
 * the checks before the message is looked at.
 */
#ifndef RECEIVERS_OTLP_ENDPOINT_H
#define RECEIVERS_OTLP_ENDPOINT_H

#include <stdbool.h>

#include "base/types.h"
#include "receivers/machine_intake.h"
#include "receivers/otlp_intake.h"
#include "receivers/otlp_options.h"

struct arrival;
struct arrivals;
struct authenticator_ops;
struct buf;
struct exchange;
struct listener;

#define OTLP_WHY_MAX 1024
#define OTLP_LATER_SECONDS 30		/* when a sender may come again who has brought too much that is new */

/* What is sent; each has paths of its own. */
enum otlp_signal { OTLP_PROFILES, OTLP_METRICS };

struct otlp_endpoint {
	struct otlp_intake intake;
	struct machine_intake machines;		/* of metrics */
	const struct otlp_http_options *http;	/* NULL: gRPC */
	const struct authenticator_ops *authenticator;	/* NULL: anybody may */
	void *authenticator_self;
	size_t message_max;
	struct listener *listener;
	struct arrivals *arrivals;	/* where each request is told of; NULL: nowhere */
	const char *id;			/* of the receiver */
};

/* Who sends what, before it is read; and what became of it. */
void otlp_endpoint_note(const struct otlp_endpoint *endpoint, struct exchange *exchange, struct arrival *ret_arrival);
void otlp_endpoint_tell(const struct otlp_endpoint *endpoint, enum otlp_signal signal, struct arrival *arrival,
			enum rpc_code code, const char *why);

/* RPC_OK, or why the request is not even read; RPC_RESOURCE_EXHAUSTED: it may come again after OTLP_LATER_SECONDS. */
enum rpc_code otlp_endpoint_admit(struct otlp_endpoint *endpoint, enum otlp_signal signal,
				  const struct exchange *exchange, struct buf *why);

/* Reads the message and takes it in; the arrival gets how much there was. */
enum rpc_code otlp_endpoint_take(struct otlp_endpoint *endpoint, enum otlp_signal signal, struct exchange *exchange,
				 bool json, struct arrival *arrival, struct buf *why);

/* Handlers: arg is the endpoint. */
void otlp_http_handle(void *arg, struct exchange *exchange);
void otlp_grpc_handle(void *arg, struct exchange *exchange);
void otlp_http_handle_metrics(void *arg, struct exchange *exchange);
void otlp_grpc_handle_metrics(void *arg, struct exchange *exchange);

#endif
