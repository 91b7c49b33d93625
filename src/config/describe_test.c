// SPDX-License-Identifier: Apache-2.0
#include "config/describe.h"

#include <math.h>

#include "base/buf.h"
#include "test.h"

struct inner {
	bool on;
};

struct options {
	s64 count, span_ns;
	double part;
	const char *text, *must;
	int choice;
	struct config_texts list;
	struct inner inner;
	struct config_sections rules;
};

static const char *const choices[] = { "json", "", NULL };
static const struct options defaults = {
	.count = 7, .span_ns = 90000000000, .part = 0.5, .text = "t", .choice = 0,
	.list = { 2, (const char *const[]){ "a", "" } },
};

static const struct config_field inner_fields[] = {
	{ "on", CONFIG_BOOL, FIELD(struct inner, on), .help = "h" },
	{ 0 },
};

static const struct config_field element_fields[] = {
	{ "key", CONFIG_TEXT, 0, .help = "h" },
	{ 0 },
};

static const struct config_field fields[] = {
	{ "count", CONFIG_INTEGER, FIELD(struct options, count), .min = 1, .max = 9, .help = "h" },
	{ "span", CONFIG_DURATION, FIELD(struct options, span_ns), .max = INFINITY, .help = "h" },
	{ "part", CONFIG_REAL, FIELD(struct options, part), .help = "h" },
	{ "text", CONFIG_TEXT, FIELD(struct options, text), .help = "h" },
	{ "must", CONFIG_TEXT, FIELD(struct options, must), .required = true, .help = "h" },
	{ "choice", CONFIG_CHOICE, FIELD(struct options, choice), .choices = choices, .help = "h" },
	{ "list", CONFIG_TEXTS, FIELD(struct options, list), .help = "h" },
	{ "inner", CONFIG_SECTION, FIELD(struct options, inner), .fields = inner_fields, .help = "h" },
	{ "rules", CONFIG_SECTIONS, FIELD(struct options, rules), .fields = element_fields,
	  .element_bytes = sizeof(const char *), .help = "h" },
	{ "more", CONFIG_SECTION, FIELD(struct options, inner), .fields = inner_fields, .help = "h" },
	{ "gone", CONFIG_REFUSED, .help = "h" },
	{ 0 },
};

static void add(void *arg, const struct field_description *d)
{
	buf_addf(arg, "%s: %s (%s)\n", d->path, d->type, d->standard);
}

TEST(describe_puts_a_table_into_words)
{
	struct buf text;

	buf_init(&text, 4096);
	config_describe(fields, &defaults, add, &text);
	STREQ(text.data, "count: whole number, 1 to 9 (7)\n"
			 "span: duration, at least 0s (1m30s)\n"
			 "part: number (0.5)\n"
			 "text: string (t)\n"
			 "must: string (required)\n"
			 "choice: json, \"\" (json)\n"
			 "list: list of strings ([a, \"\"])\n"
			 "inner: map ()\n"
			 "inner::on: true or false (false)\n"
			 "rules: list of maps ()\n"
			 "rules[]::key: string ()\n"
			 "more: map, as inner ()\n"
			 "gone: not supported ()\n");
	buf_done(&text);
}
