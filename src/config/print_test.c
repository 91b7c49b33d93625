// SPDX-License-Identifier: Apache-2.0
#include "config/print.h"

#include "base/buf.h"
#include "config/config.h"
#include "test.h"

struct options {
	const char *token, *file;
	struct config_pairs headers;
};

static const struct config_field inner[] = {
	{ "password", CONFIG_SECRET, FIELD(struct options, token), .help = "secret" },
	{ 0 },
};

static const struct config_field fields[] = {
	{ "api", CONFIG_SECRET, FIELD(struct options, token), .help = "secret" },
	{ "token_file", CONFIG_TEXT, FIELD(struct options, file), .help = "a path" },
	{ "headers", CONFIG_PAIRS, FIELD(struct options, headers), .secret = true, .help = "headers" },
	{ "auth", CONFIG_SECTION, .fields = inner, .help = "auth" },
	{ "users", CONFIG_SECTIONS, .fields = inner, .help = "users" },
	{ 0 },
};

static const struct config_field *fields_of(void *arg, const char *section, const char *id)
{
	return !strcmp(section, "exporters") && !strcmp(id, "x/1") ? fields : NULL;
}

static void prints(const char *yaml, struct print_options options, const char *want)
{
	struct config_request request = { .sources = &yaml, .source_count = 1 };
	struct config_errors errors;
	struct config *config;
	struct buf out;

	config_errors_init(&errors);
	buf_init(&out, 1 << 16);
	options.fields = fields_of;
	EQ(config_load(&request, &config, &errors), 0);
	config_print(config->root, &options, &out);
	buf_addf(&out, "%s", "");
	STREQ(out.data, want);
	buf_done(&out);
	config_free(config);
	config_errors_done(&errors);
}

static const char secrets[] =
	"yaml:exporters: {x/1: {api: s, token_file: /t, headers: {A: b, C: ''}, auth: {password: p}, "
	"users: [{password: q}]}, y: {the_password: r, plain: [1]}}";

TEST(print_leaves_secrets_out)
{
	prints(secrets, (struct print_options){ .format = PRINT_YAML },
	       "exporters:\n"
	       "  x/1:\n"
	       "    api: \"[REDACTED]\"\n"
	       "    token_file: /t\n"
	       "    headers:\n"
	       "      A: \"[REDACTED]\"\n"
	       "      C: \"\"\n"
	       "    auth:\n"
	       "      password: \"[REDACTED]\"\n"
	       "    users:\n"
	       "      - password: \"[REDACTED]\"\n"
	       "  y:\n"
	       "    the_password: \"[REDACTED]\"\n"
	       "    plain:\n"
	       "      - 1\n");
}

TEST(print_shows_secrets_when_told)
{
	prints("yaml:exporters: {x/1: {api: s3}}", (struct print_options){ .unredacted = true },
	       "exporters:\n  x/1:\n    api: s3\n");
}

TEST(print_writes_json)
{
	prints("yaml:a: {b: [1, 2.5, x, null, true, {}], c: {}}", (struct print_options){ .format = PRINT_JSON },
	       "{\n  \"a\": {\n    \"b\": [\n      1,\n      2.5,\n      \"x\",\n      null,\n      true,\n"
	       "      {}\n    ],\n    \"c\": {}\n  }\n}\n");
}

TEST(print_quotes_what_would_read_as_something_else)
{
	prints("yaml:a: ['true', '12', '', 'a: b', 'a #b', '-x', '*x', 'h:1', \"a\\nb\", 'ends:', '0x1', ' x', '1s', "
	       "'[', 'a b, c', '~']",
	       (struct print_options){ 0 },
	       "a:\n  - \"true\"\n  - \"12\"\n  - \"\"\n  - \"a: b\"\n  - \"a #b\"\n  - \"-x\"\n  - \"*x\"\n  - h:1\n"
	       "  - \"a\\nb\"\n  - \"ends:\"\n  - \"0x1\"\n  - \" x\"\n  - 1s\n  - \"[\"\n  - \"a b, c\"\n  - \"~\"\n");
}

/* YAML refuses the first, the third and the last; it takes the others for ends of lines or for the mark of a file. */
TEST(print_escapes_what_yaml_does_not_take)
{
	prints("yaml:a: \"\\x7f \\x85 \\x97 \\u2028 \\u2029 \\ufeff \\uffff \xc2\xa0\"", (struct print_options){ 0 },
	       "a: \"\\u007f \\u0085 \\u0097 \\u2028 \\u2029 \\ufeff \\uffff \xc2\xa0\"\n");
}

TEST(print_nests_lists)
{
	prints("yaml:a: [[1, [2]], {b: 1, c: [3]}]", (struct print_options){ 0 },
	       "a:\n  - - 1\n    - - 2\n  - b: 1\n    c:\n      - 3\n");
}
