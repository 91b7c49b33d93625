// SPDX-License-Identifier: Apache-2.0
/* OTLP/gRPC: one unary call. */
#include "base/buf.h"
#include "net/server.h"
#include "pipeline/arrivals.h"
#include "receivers/otlp_endpoint.h"

void otlp_grpc_handle(void *arg, struct exchange *exchange)
{
	struct otlp_endpoint *endpoint = arg;
	struct buf why, message;
	struct arrival arrival;
	enum rpc_code code;

	buf_init(&why, OTLP_WHY_MAX);
	buf_init(&message, 1);
	otlp_endpoint_note(endpoint, exchange, &arrival);
	code = otlp_endpoint_admit(endpoint, exchange, &why);
	if (code == RPC_OK)
		code = otlp_endpoint_take(endpoint, exchange, false, &arrival, &why);
	otlp_endpoint_tell(endpoint, &arrival, code, why.len ? why.data : "");
	/* All went well is said by a response without fields. */
	exchange_reply_grpc(exchange, code, why.len ? why.data : "", NULL, 0, code == RPC_OK ? &message : NULL);
	buf_done(&message);
	buf_done(&why);
}
