/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests of web pages from elsewhere (CORS): which origins may send them, and the headers that tell
 * their browser so. Answers are as those of the Collector, credentials allowed.
 */
#ifndef RECEIVERS_CORS_H
#define RECEIVERS_CORS_H

#include <stdbool.h>

#include "config/fields.h"
#include "net/server.h"

struct cors_options {
	struct config_texts allowed_origins;	/* may hold one *, for any text; none: no page may */
	struct config_texts allowed_headers;	/* besides those that always are; * for any */
	struct config_texts exposed_headers;
	s64 max_age;				/* of an answer to a preflight, in seconds; 0: the browser's default */
};
extern const struct config_field cors_fields[];

#define CORS_HEADERS_MAX 6
#define CORS_TEXT_MAX 1024

/* Headers for an answer; they point into themselves and the request. */
struct cors_answer {
	struct http_header headers[CORS_HEADERS_MAX];
	u32 count;
	char allowed[CORS_TEXT_MAX], exposed[CORS_TEXT_MAX], age[32];
};

/* For a request with this Origin (NULL: none): no headers if it is not allowed. */
void cors_answer(const struct cors_options *options, const char *origin, struct cors_answer *ret_answer);

/* The same for a preflight, which asks for headers (NULL: none). */
void cors_answer_preflight(const struct cors_options *options, const char *origin, const char *headers,
			   struct cors_answer *ret_answer);

#endif
