// SPDX-License-Identifier: Apache-2.0
#include "exporters/datadog_outcome.h"

#include <stdio.h>

#include "exporters/http_send.h"
#include "net/client.h"
#include "pipeline/sender.h"
#include "wire/otlp/rpc_failure.h"

static const char *advice(int status)
{
	switch (status) {
	case 403:
		return " (is the API key right, and the site?)";
	case 404:
		return " (has the Agent profiling?)";
	case 413:
		return " (a shorter interval makes smaller profiles)";
	default:
		return "";
	}
}

static bool is_only_for_now(int status)
{
	return status == 408 || status == 429 || status >= 500;
}

void datadog_outcome(const struct client_answer *answer, u64 now_unix_s, struct send_result *ret_result)
{
	char text[160] = "";

	if (http_outcome(answer, is_only_for_now, now_unix_s, ret_result))
		return;
	rpc_failure_text(answer->body.data, answer->body.len, text, sizeof(text));
	(void)snprintf(ret_result->reason, sizeof(ret_result->reason), "HTTP status %d%s%s%s", answer->status,
		       advice(answer->status), *text ? ": " : "", text);
}
