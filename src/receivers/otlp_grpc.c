// SPDX-License-Identifier: Apache-2.0
/* OTLP/gRPC: one unary call. */
#include "base/buf.h"
#include "net/server.h"
#include "pipeline/arrivals.h"
#include "receivers/otlp_endpoint.h"
#include "wire/otlp/rpc_status.h"

/* All went well is said by a response without fields. */
static void answer(struct exchange *exchange, enum rpc_code code, const char *why, bool later)
{
	_cleanup_(buf_done) struct buf message, retry;
	struct http_header trailer = { "grpc-status-details-bin", NULL };

	buf_init(&message, 1);
	buf_init(&retry, 4096);
	if (later) {
		rpc_status_retry(code, why, OTLP_LATER_SECONDS, &retry);
		buf_add(&retry, "", 1);
		later = buf_err(&retry) == 0;
		trailer.value = retry.data;
	}
	exchange_reply_grpc(exchange, code, why, &trailer, later, code == RPC_OK ? &message : NULL);
}

static void handle(struct otlp_endpoint *endpoint, enum otlp_signal signal, struct exchange *exchange)
{
	_cleanup_(buf_done) struct buf why;
	struct arrival arrival;
	enum rpc_code code;
	bool later;

	buf_init(&why, OTLP_WHY_MAX);
	otlp_endpoint_note(endpoint, exchange, &arrival);
	code = otlp_endpoint_admit(endpoint, signal, exchange, &why);
	later = code == RPC_RESOURCE_EXHAUSTED;
	if (code == RPC_OK)
		code = otlp_endpoint_take(endpoint, signal, exchange, false, &arrival, &why);
	otlp_endpoint_tell(endpoint, signal, &arrival, code, why.len ? why.data : "");
	answer(exchange, code, why.len ? why.data : "", later);
}

void otlp_grpc_handle(void *arg, struct exchange *exchange)
{
	handle(arg, OTLP_PROFILES, exchange);
}

void otlp_grpc_handle_metrics(void *arg, struct exchange *exchange)
{
	handle(arg, OTLP_METRICS, exchange);
}
