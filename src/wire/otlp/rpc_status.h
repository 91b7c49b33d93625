/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The codes of gRPC, the message google.rpc.Status that OTLP answers errors
 * with, and the status of HTTP that goes with each.
 */
#ifndef WIRE_RPC_STATUS_H
#define WIRE_RPC_STATUS_H

#include <stdbool.h>

#include "base/types.h"

struct buf;

#define RPC_CODES(X) \
	X(OK, 0, 200) \
	X(CANCELLED, 1, 503) \
	X(UNKNOWN, 2, 500) \
	X(INVALID_ARGUMENT, 3, 400) \
	X(DEADLINE_EXCEEDED, 4, 503) \
	X(NOT_FOUND, 5, 500) \
	X(ALREADY_EXISTS, 6, 500) \
	X(PERMISSION_DENIED, 7, 403) \
	X(RESOURCE_EXHAUSTED, 8, 413) \
	X(FAILED_PRECONDITION, 9, 500) \
	X(ABORTED, 10, 503) \
	X(OUT_OF_RANGE, 11, 503) \
	X(UNIMPLEMENTED, 12, 404) \
	X(INTERNAL, 13, 500) \
	X(UNAVAILABLE, 14, 503) \
	X(DATA_LOSS, 15, 503) \
	X(UNAUTHENTICATED, 16, 401)

enum rpc_code {
#define X(ID, code, http) RPC_##ID = code,
	RPC_CODES(X)
#undef X
};

/* What HTTP says for it: RESOURCE_EXHAUSTED is a body that is too large. 500 for what is no code. */
int rpc_status_http(enum rpc_code code);

/* The message, as protobuf or as JSON. */
void rpc_status_encode(enum rpc_code code, const char *text, bool json, struct buf *out);

/* The trailer grpc-status-details-bin of an answer that asks to come again after so many seconds, as a text. */
void rpc_status_retry(enum rpc_code code, const char *text, u32 seconds, struct buf *out);

#endif
