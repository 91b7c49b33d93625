// SPDX-License-Identifier: Apache-2.0
#include "receivers/cors.h"

#include "test.h"

static const char *value(const struct cors_answer *a, const char *name)
{
	for (u32 i = 0; i < a->count; i++)
		if (!strcmp(a->headers[i].name, name))
			return a->headers[i].value;
	return "";
}

static const struct cors_options options = {
	.allowed_origins = { 2, (const char *const[]){ "https://one.example", "https://*.two.example" } },
	.allowed_headers = { 1, (const char *const[]){ "X-Token" } },
	.exposed_headers = { 2, (const char *const[]){ "A", "B" } },
	.max_age = 600,
};

TEST(cors_allows_origins_by_name_and_by_pattern)
{
	static const struct {
		const char *origin, *allowed;
	} cases[] = {
		{ "https://one.example", "https://one.example" },
		{ "https://ONE.example", "https://ONE.example" },
		{ "https://a.b.two.example", "https://a.b.two.example" },
		{ "https://two.example", "" },
		{ "https://one.example.evil", "" },
		{ NULL, "" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct cors_answer a;

		cors_answer(&options, cases[i].origin, &a);
		STREQ(value(&a, "access-control-allow-origin"), cases[i].allowed);
		STREQ(value(&a, "access-control-expose-headers"), *cases[i].allowed ? "A, B" : "");
		STREQ(value(&a, "vary"), "Origin");
	}
}

TEST(cors_says_nothing_if_no_origin_is_configured)
{
	struct cors_answer a;

	cors_answer(&(struct cors_options){ 0 }, "https://one.example", &a);
	EQ(a.count, 0);
}

TEST(cors_answers_preflights)
{
	struct cors_options any = options;
	struct cors_answer a;

	cors_answer_preflight(&options, "https://one.example", "X-Other", &a);
	STREQ(value(&a, "access-control-allow-methods"), "POST");
	STREQ(value(&a, "access-control-allow-headers"), "Accept, Content-Type, X-Requested-With, X-Token");
	STREQ(value(&a, "access-control-max-age"), "600");
	any.allowed_headers.at = (const char *const[]){ "*" };
	cors_answer_preflight(&any, "https://one.example", "X-Other", &a);
	STREQ(value(&a, "access-control-allow-headers"), "X-Other");
}
