/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why a request failed, as servers say it: google.rpc.Status, in the trailer grpc-status-details-bin or as the body of
 * an HTTP answer.
 *
 *	Status		1 code, 2 message, 3 details: repeated Any
 *	Any		1 type_url, 2 value
 *	RetryInfo	1 retry_delay: Duration {1 seconds, 2 nanos}		".../google.rpc.RetryInfo"
 */
#ifndef WIRE_RPC_FAILURE_H
#define WIRE_RPC_FAILURE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/types.h"

struct rpc_failure {
	s64 code;
	char message[200];		/* cut; printable */
	bool has_retry;			/* it asks to come again, after retry_ns */
	s64 retry_ns;
};

/* -EBADMSG: no such message. */
int rpc_failure_parse(const void *at, size_t bytes, struct rpc_failure *ret_failure);

/* {"code": 3, "message": "..."}; other members are left alone, and a code that is a text (Connect's). */
int rpc_failure_parse_json(const void *at, size_t bytes, struct rpc_failure *ret_failure);

/* As it stands in the trailer: base64 without padding, or with. */
int rpc_failure_parse_trailer(const char *text, struct rpc_failure *ret_failure);

/* Copies what a server said, cut to the room; it is shown in logs: what is no plain text becomes a question mark. */
void rpc_failure_text(const char *at, size_t bytes, char *out, size_t room);

#endif
