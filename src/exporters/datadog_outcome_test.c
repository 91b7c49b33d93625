// SPDX-License-Identifier: Apache-2.0
#include "exporters/datadog_outcome.h"

#include <errno.h>

#include "net/client.h"
#include "pipeline/sender.h"
#include "test.h"

static struct send_result outcome(int status, const char *body, const char *retry_after)
{
	struct http_header header = { "retry-after", retry_after };
	struct client_answer answer = {
		.status = status, .error = status ? 0 : -ECONNREFUSED, .error_text = "refused",
		.body = { .data = (char *)body, .len = strlen(body) },
		.headers = &header, .header_count = !!retry_after,
	};
	struct send_result result;

	datadog_outcome(&answer, 1000, &result);
	return result;
}

TEST(datadog_uploads_are_sent_again_only_where_that_helps)
{
	static const int taken[] = { 200, 202, 204 }, again[] = { 0, 408, 429, 500, 502, 503, 504 };
	static const int never[] = { 301, 400, 401, 403, 404, 413, 415 };

	for (size_t i = 0; i < sizeof(taken) / sizeof(*taken); i++)
		EQ(outcome(taken[i], "", NULL).outcome, SEND_OK);
	for (size_t i = 0; i < sizeof(again) / sizeof(*again); i++)
		EQ(outcome(again[i], "", NULL).outcome, SEND_RETRY);
	for (size_t i = 0; i < sizeof(never) / sizeof(*never); i++)
		EQ(outcome(never[i], "", NULL).outcome, SEND_PERMANENT);
}

TEST(datadog_outcome_says_why)
{
	STREQ(outcome(500, "Profile forwarder is OFF\n", NULL).reason, "HTTP status 500: Profile forwarder is OFF?");
	STREQ(outcome(403, "", NULL).reason, "HTTP status 403 (is the API key right, and the site?)");
	STREQ(outcome(0, "", NULL).reason, "refused");
	EQ(outcome(429, "", "7").delay_ns, 7000000000);
	EQ(outcome(200, "", NULL).reason[0], '\0');
}
