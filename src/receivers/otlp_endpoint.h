/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One protocol of the receiver `otlp`: its listener, who may send, and the
 * handlers of its routes. What HTTP and gRPC have in common is here:
 * the checks before the message is looked at.
 */
#ifndef RECEIVERS_OTLP_ENDPOINT_H
#define RECEIVERS_OTLP_ENDPOINT_H

#include <stdbool.h>

#include "abi.h"
#include "receivers/otlp_intake.h"
#include "receivers/otlp_options.h"

struct authenticator_ops;
struct buf;
struct exchange;
struct listener;

#define OTLP_WHY_MAX 1024

struct otlp_endpoint {
	struct otlp_intake intake;
	const struct otlp_http_options *http;	/* NULL: gRPC */
	const struct authenticator_ops *authenticator;	/* NULL: anybody may */
	void *authenticator_self;
	size_t message_max;
	struct listener *listener;
};

/* RPC_OK, or why the request is not even read. */
enum rpc_code otlp_endpoint_admit(const struct otlp_endpoint *endpoint, const struct exchange *exchange,
				  struct buf *why);

/* Reads the message and takes it in. */
enum rpc_code otlp_endpoint_take(struct otlp_endpoint *endpoint, struct exchange *exchange, bool json, struct buf *why);

/* Handlers: arg is the endpoint. */
void otlp_http_handle(void *arg, struct exchange *exchange);
void otlp_grpc_handle(void *arg, struct exchange *exchange);

#endif
