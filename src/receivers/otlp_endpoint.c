// SPDX-License-Identifier: Apache-2.0
#include "receivers/otlp_endpoint.h"

#include <errno.h>
#include <string.h>

#include "base/budget.h"
#include "base/buf.h"
#include "net/server.h"
#include "pipeline/arrivals.h"
#include "pipeline/authorize.h"
#include "pipeline/component.h"

#define VERSION_HEADER "otlp-profiles-development-version"
#define VERSION "1"

void otlp_endpoint_note(const struct otlp_endpoint *endpoint, struct exchange *exchange, struct arrival *ret_arrival)
{
	arrival_of_exchange(exchange, ret_arrival);
	ARRIVAL_TEXT(ret_arrival->component, endpoint->id);
	ARRIVAL_TEXT(ret_arrival->protocol, endpoint->http ? "http" : "grpc");
}

/* Metrics that were taken would drive out all others of the last requests. */
void otlp_endpoint_tell(const struct otlp_endpoint *endpoint, enum otlp_signal signal, struct arrival *arrival,
			enum rpc_code code, const char *why)
{
	if (signal == OTLP_METRICS && code == RPC_OK)
		return;
	arrival->level = code == RPC_OK ? LOG_LEVEL_INFO : LOG_LEVEL_ERROR;
	ARRIVAL_TEXT(arrival->text, why);
	arrivals_add(endpoint->arrivals, arrival);
}

enum rpc_code otlp_endpoint_admit(struct otlp_endpoint *endpoint, enum otlp_signal signal,
				  const struct exchange *exchange, struct buf *why)
{
	const char *version = exchange_header(exchange, VERSION_HEADER);

	if (!is_authorized(endpoint->authenticator, endpoint->authenticator_self, exchange)) {
		buf_addf(why, "missing or wrong credentials");
		return RPC_UNAUTHENTICATED;
	}
	/* Senders know it from a Collector that has no pipeline for them, and stop asking. */
	if (signal == OTLP_METRICS && !machine_intake_is_open()) {
		buf_addf(why, "metrics are not taken here: there is no store for what hosts tell of themselves");
		return RPC_UNIMPLEMENTED;
	}
	if (signal == OTLP_METRICS)
		return RPC_OK;
	if (version && (exchange_header_count(exchange, VERSION_HEADER) > 1 || strcmp(version, VERSION))) {
		buf_addf(why, VERSION_HEADER " is not " VERSION ", the only version known here");
		return RPC_INVALID_ARGUMENT;
	}
	if (!otlp_intake_allows(&endpoint->intake, exchange_peer_key(exchange))) {
		buf_addf(why, "you have brought more new names and stacks than your share of the store's memory; "
			 "try again later, or raise --max-memory");
		return RPC_RESOURCE_EXHAUSTED;
	}
	return RPC_OK;
}

static enum rpc_code take_metrics(struct otlp_endpoint *endpoint, struct buf *message, bool json, u64 sender,
				  struct buf *why)
{
	enum rpc_code code = machine_intake_take(&endpoint->machines, message, json, sender, why);

	if (code == RPC_OK)
		receipts_nothing(&endpoint->intake.receipts);
	else
		receipts_failed(&endpoint->intake.receipts, 0);
	return code;
}

static enum rpc_code take(struct otlp_endpoint *endpoint, enum otlp_signal signal, struct exchange *exchange,
			  bool json, struct arrival *arrival, struct buf *why)
{
	struct otlp_amounts amounts = { 0 };
	enum rpc_code code;
	struct buf message;
	int r;

	buf_init(&message, endpoint->message_max);
	r = exchange_message(exchange, &message);
	if (r == 0 && signal == OTLP_METRICS)
		return take_metrics(endpoint, &message, json, exchange_peer_key(exchange), why);
	if (r == 0) {
		code = otlp_intake_take(&endpoint->intake, &message, json, &amounts, why);
		arrival->samples = amounts.samples;
		arrival->resources = amounts.resources;
		return code;
	}
	buf_done(&message);
	receipts_failed(&endpoint->intake.receipts, 0);
	switch (r) {
	case -E2BIG:
		buf_addf(why, "the request is larger than %zu bytes, the limit set here", endpoint->message_max);
		return RPC_RESOURCE_EXHAUSTED;
	case -EOPNOTSUPP:
		buf_addf(why, "the encoding of the request is not known here; use gzip, zstd or none");
		return endpoint->http ? RPC_INVALID_ARGUMENT : RPC_UNIMPLEMENTED;
	case -ENOMEM:
		buf_addf(why, "out of memory, try again later");
		return RPC_UNAVAILABLE;
	default:
		buf_addf(why, "the request cannot be unpacked");
		return RPC_INVALID_ARGUMENT;
	}
}

/* What it unpacks, decodes and queues is charged to the senders' part of the budget, before it is taken. */
enum rpc_code otlp_endpoint_take(struct otlp_endpoint *endpoint, enum otlp_signal signal, struct exchange *exchange,
				 bool json, struct arrival *arrival, struct buf *why)
{
	struct budget_scope scope;
	enum rpc_code code;

	budget_begin(&scope, BUDGET_OTLP);
	budget_set_sender(&scope, exchange_peer_key(exchange));
	code = take(endpoint, signal, exchange, json, arrival, why);
	budget_end(&scope);
	budget_settle();
	return code;
}
