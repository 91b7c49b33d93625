// SPDX-License-Identifier: Apache-2.0
#include "receivers/cors.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define ALWAYS_ALLOWED "Accept, Content-Type, X-Requested-With"

const struct config_field cors_fields[] = {
	{ "allowed_origins", CONFIG_TEXTS, FIELD(struct cors_options, allowed_origins),
	  .help = "web pages that may send: https://example.com, https://*.example.com, or *" },
	{ "allowed_headers", CONFIG_TEXTS, FIELD(struct cors_options, allowed_headers),
	  .help = "headers that they may send, besides Accept, Content-Type and X-Requested-With; * for any" },
	{ "exposed_headers", CONFIG_TEXTS, FIELD(struct cors_options, exposed_headers),
	  .help = "headers of the answer that they may read" },
	{ "max_age", CONFIG_INTEGER, FIELD(struct cors_options, max_age), .max = 86400 * 365.0,
	  .help = "seconds for which browsers may remember this" },
	{ 0 },
};

/* One * stands for any text. */
static bool matches(const char *pattern, const char *text)
{
	const char *star = strchr(pattern, '*');
	size_t head, tail, len = strlen(text);

	if (!star)
		return !strcasecmp(pattern, text);
	head = (size_t)(star - pattern);
	tail = strlen(star + 1);
	return len >= head + tail && !strncasecmp(pattern, text, head) && !strcasecmp(star + 1, text + len - tail);
}

static bool any_matches(const struct config_texts *patterns, const char *text)
{
	for (u32 i = 0; i < patterns->count; i++)
		if (matches(patterns->at[i], text))
			return true;
	return false;
}

/* Joined by commas; what does not fit is left out. */
static void join(const struct config_texts *texts, char out[CORS_TEXT_MAX])
{
	size_t len = strlen(out);

	for (u32 i = 0; i < texts->count && len + strlen(texts->at[i]) + 3 < CORS_TEXT_MAX; i++)
		len += (size_t)snprintf(out + len, CORS_TEXT_MAX - len, "%s%s", len ? ", " : "", texts->at[i]);
}

static void add(struct cors_answer *a, const char *name, const char *value)
{
	a->headers[a->count++] = (struct http_header){ name, value };
}

static bool add_origin(const struct cors_options *options, const char *origin, struct cors_answer *a)
{
	a->count = 0;
	if (!options->allowed_origins.count)
		return false;
	add(a, "vary", "Origin");
	if (!origin || !any_matches(&options->allowed_origins, origin))
		return false;
	add(a, "access-control-allow-origin", origin);
	add(a, "access-control-allow-credentials", "true");
	return true;
}

void cors_answer(const struct cors_options *options, const char *origin, struct cors_answer *ret_answer)
{
	if (!add_origin(options, origin, ret_answer) || !options->exposed_headers.count)
		return;
	ret_answer->exposed[0] = '\0';
	join(&options->exposed_headers, ret_answer->exposed);
	add(ret_answer, "access-control-expose-headers", ret_answer->exposed);
}

void cors_answer_preflight(const struct cors_options *options, const char *origin, const char *headers,
			   struct cors_answer *ret_answer)
{
	if (!add_origin(options, origin, ret_answer))
		return;
	add(ret_answer, "access-control-allow-methods", "POST");
	if (headers && any_matches(&options->allowed_headers, "*")) {
		add(ret_answer, "access-control-allow-headers", headers);
	} else {
		snprintf(ret_answer->allowed, sizeof(ret_answer->allowed), "%s", ALWAYS_ALLOWED);
		join(&options->allowed_headers, ret_answer->allowed);
		add(ret_answer, "access-control-allow-headers", ret_answer->allowed);
	}
	if (options->max_age) {
		snprintf(ret_answer->age, sizeof(ret_answer->age), "%lld", (long long)options->max_age);
		add(ret_answer, "access-control-max-age", ret_answer->age);
	}
}
