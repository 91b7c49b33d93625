// SPDX-License-Identifier: Apache-2.0
#include "exporters/datadog_outcome.h"

#include <stdio.h>

#include "exporters/otlp_outcome.h"
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

void datadog_outcome(const struct client_answer *answer, u64 now_unix_s, struct send_result *ret_result)
{
	const char *after = client_answer_header(answer, "retry-after");
	int status = answer->status;
	char text[160] = "";

	*ret_result = (struct send_result){ 0 };
	if (answer->error) {
		ret_result->outcome = SEND_RETRY;
		(void)snprintf(ret_result->reason, sizeof(ret_result->reason), "%s", answer->error_text);
		return;
	}
	if (status >= 200 && status < 300)
		return;
	ret_result->outcome = status == 408 || status == 429 || status >= 500 ? SEND_RETRY : SEND_PERMANENT;
	ret_result->delay_ns = after ? otlp_retry_after(after, now_unix_s) : 0;
	rpc_failure_text(answer->body.data, answer->body.len, text, sizeof(text));
	(void)snprintf(ret_result->reason, sizeof(ret_result->reason), "HTTP status %d%s%s%s", status, advice(status),
		       *text ? ": " : "", text);
}
