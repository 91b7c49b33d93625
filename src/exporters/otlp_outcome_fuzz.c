// SPDX-License-Identifier: Apache-2.0
/* What a backend may answer: status, header values and a body, as lines; the rest is the body. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/otlp_outcome.h"
#include "net/client.h"
#include "pipeline/sender.h"

static const char *const names[] = {
	"grpc-status", "grpc-message", "grpc-status-details-bin", "grpc-encoding", "content-type", "retry-after",
};
#define NAMES (sizeof(names) / sizeof(*names))

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), *rest = text, *line;
	struct http_header headers[NAMES];
	struct client_answer answer = { .headers = headers };
	struct send_result result;

	memcpy(text, data, size);
	text[size] = '\0';
	line = strsep(&rest, "\n");
	answer.status = (int)strtol(line, NULL, 10);
	while (answer.header_count < NAMES && rest && (line = strsep(&rest, "\n"))) {
		headers[answer.header_count] = (struct http_header){ names[answer.header_count], line };
		answer.header_count++;
	}
	if (rest)
		answer.body = (struct buf){ .data = rest, .len = (size_t)(text + size - rest) };
	otlp_outcome_grpc(&answer, &result);
	otlp_outcome_http(&answer, 1700000000, &result);
	free(text);
	return 0;
}
