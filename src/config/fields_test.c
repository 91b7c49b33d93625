// SPDX-License-Identifier: Apache-2.0
#include "config/fields.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>

#include "test.h"

struct inner {
	bool insecure;
	const char *ca_file;
};

struct element {
	const char *key;
	s64 weight;
};

struct options {
	bool enabled;
	s64 size, timeout_ns;
	double ratio;
	const char *endpoint, *token;
	int format;
	struct config_texts names;
	struct config_pairs headers;
	struct inner tls;
	bool tls_present;
	struct config_sections rules;
	const struct config_node *any;
};

static const char *const formats[] = { "json", "proto", NULL };
static const char *const older[] = { "queue_length", NULL };
static const struct element element_defaults = { .weight = 3 };

static const struct config_field inner_fields[] = {
	{ "insecure", CONFIG_BOOL, FIELD(struct inner, insecure), .help = "no TLS" },
	{ "ca_file", CONFIG_TEXT, FIELD(struct inner, ca_file), .help = "CA" },
	{ 0 },
};

static const struct config_field element_fields[] = {
	{ "key", CONFIG_TEXT, FIELD(struct element, key), .required = true, .help = "which" },
	{ "weight", CONFIG_INTEGER, FIELD(struct element, weight), .help = "how much" },
	{ 0 },
};

static const struct config_field fields[] = {
	{ "enabled", CONFIG_BOOL, FIELD(struct options, enabled), .help = "on" },
	{ "queue_size", CONFIG_INTEGER, FIELD(struct options, size), .min = 1, .max = 1000, .any_case = true,
	  .aliases = older, .help = "size" },
	{ "timeout", CONFIG_DURATION, FIELD(struct options, timeout_ns), .min = 0, .max = INFINITY, .help = "limit" },
	{ "ratio", CONFIG_REAL, FIELD(struct options, ratio), .min = 0, .max = 1, .help = "part" },
	{ "endpoint", CONFIG_TEXT, FIELD(struct options, endpoint), .help = "where" },
	{ "token", CONFIG_SECRET, FIELD(struct options, token), .help = "secret" },
	{ "format", CONFIG_CHOICE, FIELD(struct options, format), .choices = formats, .help = "form" },
	{ "names", CONFIG_TEXTS, FIELD(struct options, names), .help = "names" },
	{ "headers", CONFIG_PAIRS, FIELD(struct options, headers), .help = "headers" },
	{ "tls", CONFIG_SECTION, FIELD(struct options, tls), .fields = inner_fields,
	  .present = FIELD_PRESENT(struct options, tls_present), .help = "TLS" },
	{ "rules", CONFIG_SECTIONS, FIELD(struct options, rules), .fields = element_fields,
	  .element_bytes = sizeof(struct element), .element_defaults = &element_defaults, .help = "rules" },
	{ "any", CONFIG_NODE, FIELD(struct options, any), .help = "anything" },
	{ "balancer_name", CONFIG_REFUSED, .help = "one address only; remove it" },
	{ "warm_up", CONFIG_NEEDLESS, .help = "nothing is warmed up here" },
	{ 0 },
};

/* ---- Trees by hand ---------------------------------------------------------------- */

#define AT(line, column) { "f.yaml", line, column }
#define STRING(s) { .kind = NODE_STRING, .text = s, .place = AT(1, 9) }
#define INT(n) { .kind = NODE_INT, .text = #n, .integer = n, .place = AT(1, 9) }
#define DOUBLE(n) { .kind = NODE_DOUBLE, .text = #n, .real = n, .place = AT(1, 9) }
#define BOOL(b) { .kind = NODE_BOOL, .text = #b, .boolean = b, .place = AT(1, 9) }
#define NOTHING { .kind = NODE_NULL, .text = "", .place = AT(1, 9) }
#define UNSET { .kind = NODE_NULL, .text = "", .expanded = true, .place = AT(1, 9) }

struct fixture {
	struct arena arena;
	struct config_errors errors;
	struct options options;
	int result;
};

static void setup(struct fixture *f)
{
	*f = (struct fixture){ .options = { .timeout_ns = 5, .endpoint = "default", .enabled = true } };
	arena_init(&f->arena, 1 << 20);
	config_errors_init(&f->errors);
}

static void done(struct fixture *f)
{
	arena_done(&f->arena);
	config_errors_done(&f->errors);
}

static void decode_node(struct fixture *f, const struct config_node *node)
{
	f->result = config_decode(&f->arena, node, fields, "exporters::otlp", &f->options, &f->errors);
}

static void decode(struct fixture *f, const char *key, struct config_node value)
{
	struct config_entry entry = { key, AT(1, 2), &value };
	struct config_node map = { .kind = NODE_MAP, .count = 1, .map = &entry, .place = AT(1, 1) };

	decode_node(f, &map);
}

static void decodes(struct fixture *f, const char *key, struct config_node value)
{
	decode(f, key, value);
	if (f->errors.error_count)
		FAIL("%s", f->errors.errors[0]);
	EQ(f->result, 0);
}

static void refuses(const char *key, struct config_node value, const char *why)
{
	struct fixture f;

	setup(&f);
	decode(&f, key, value);
	EQ(f.result, -EINVAL);
	EQ(f.errors.error_count, 1);
	STREQ(f.errors.errors[0], why);
	done(&f);
}

/* ---- Tests --------------------------------------------------------------------------- */

TEST(fields_read_every_scalar_type)
{
	struct fixture f;

	setup(&f);
	decodes(&f, "enabled", (struct config_node)BOOL(false));
	decodes(&f, "queue_size", (struct config_node)INT(1000));
	decodes(&f, "timeout", (struct config_node)STRING("1m30s"));
	decodes(&f, "ratio", (struct config_node)DOUBLE(0.25));
	decodes(&f, "endpoint", (struct config_node)INT(4317));
	decodes(&f, "token", (struct config_node)STRING("s3cret"));
	decodes(&f, "format", (struct config_node)STRING("Proto"));
	EQ(f.options.enabled, false);
	EQ(f.options.size, 1000);
	EQ(f.options.timeout_ns, 90000000000);
	OK(f.options.ratio == 0.25);
	STREQ(f.options.endpoint, "4317");
	STREQ(f.options.token, "s3cret");
	EQ(f.options.format, 1);
	decodes(&f, "timeout", (struct config_node)INT(1500));
	EQ(f.options.timeout_ns, 1500);
	decodes(&f, "queue_size", (struct config_node)DOUBLE(1e2));
	EQ(f.options.size, 100);
	done(&f);
}

TEST(fields_leave_defaults_for_null_but_not_for_unset_variables)
{
	struct fixture f;

	setup(&f);
	decodes(&f, "timeout", (struct config_node)NOTHING);
	decodes(&f, "endpoint", (struct config_node)NOTHING);
	decodes(&f, "enabled", (struct config_node)NOTHING);
	EQ(f.options.timeout_ns, 5);
	STREQ(f.options.endpoint, "default");
	EQ(f.options.enabled, true);
	decodes(&f, "timeout", (struct config_node)UNSET);
	decodes(&f, "endpoint", (struct config_node)UNSET);
	decodes(&f, "enabled", (struct config_node)UNSET);
	EQ(f.options.timeout_ns, 0);
	STREQ(f.options.endpoint, "");
	EQ(f.options.enabled, false);
	done(&f);
}

TEST(fields_say_what_was_expected)
{
	refuses("enabled", (struct config_node)STRING("yes"),
		"f.yaml:1:9: exporters::otlp::enabled: \"yes\" is not true or false");
	refuses("queue_size", (struct config_node)INT(0),
		"f.yaml:1:9: exporters::otlp::queue_size: 0 is out of range: from 1 to 1000");
	refuses("queue_size", (struct config_node)DOUBLE(1.5),
		"f.yaml:1:9: exporters::otlp::queue_size: 1.5 is not a whole number");
	refuses("queue_size", (struct config_node)UNSET,
		"f.yaml:1:9: exporters::otlp::queue_size: nothing is out of range: from 1 to 1000");
	refuses("timeout", (struct config_node)STRING("-1s"),
		"f.yaml:1:9: exporters::otlp::timeout: \"-1s\" is too small: at least 0s");
	refuses("timeout", (struct config_node)STRING("5"),
		"f.yaml:1:9: exporters::otlp::timeout: \"5\" is not a duration, as 1m30s or 200ms");
	refuses("ratio", (struct config_node)DOUBLE(1.01),
		"f.yaml:1:9: exporters::otlp::ratio: 1.01 is out of range: from 0 to 1");
	refuses("ratio",
		(struct config_node){ .kind = NODE_DOUBLE, .text = ".inf", .real = INFINITY, .place = AT(1, 9) },
		"f.yaml:1:9: exporters::otlp::ratio: .inf is not a number");
	refuses("format", (struct config_node)STRING("jsn"),
		"f.yaml:1:9: exporters::otlp::format: \"jsn\" is not one of json, proto; did you mean json?");
	refuses("balancer_name", (struct config_node)STRING("x"),
		"f.yaml:1:2: exporters::otlp::balancer_name: one address only; remove it");
}

TEST(fields_refuse_nothing_that_is_empty)
{
	struct fixture f;

	setup(&f);
	decodes(&f, "balancer_name", (struct config_node)STRING(""));
	decodes(&f, "balancer_name", (struct config_node){ .kind = NODE_LIST });
	decodes(&f, "balancer_name", (struct config_node)NOTHING);
	done(&f);
	refuses("balancer_name", (struct config_node){ .kind = NODE_MAP, .place = AT(1, 9) },
		"f.yaml:1:2: exporters::otlp::balancer_name: one address only; remove it");
}

TEST(fields_keep_secrets_out_of_messages)
{
	struct config_node *list[] = { &(struct config_node)STRING("s3cret") };

	refuses("token", (struct config_node){ .kind = NODE_LIST, .count = 1, .list = list, .place = AT(1, 9) },
		"f.yaml:1:9: exporters::otlp::token: a list is not a string");
}

TEST(fields_suggest_the_nearest_name)
{
	refuses("endpiont", (struct config_node)STRING("x"),
		"f.yaml:1:2: exporters::otlp: unknown key endpiont; did you mean endpoint?");
	refuses("insecure", (struct config_node)BOOL(true),
		"f.yaml:1:2: exporters::otlp: unknown key insecure; did you mean tls::insecure?");
	refuses("colour", (struct config_node)BOOL(true),
		"f.yaml:1:2: exporters::otlp: unknown key colour; there is enabled, queue_size, timeout, ratio, "
		"endpoint, token, format, names, headers, tls, rules, any, warm_up");
}

TEST(fields_take_older_names_with_a_warning)
{
	static const char *const names[] = { "QueueSize", "queuesize", "QUEUE_SIZE", "queue_length", "QueueLength" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct fixture f;
		char warning[128];

		setup(&f);
		decodes(&f, names[i], (struct config_node)INT(7));
		EQ(f.options.size, 7);
		EQ(f.errors.warning_count, 1);
		snprintf(warning, sizeof(warning), "f.yaml:1:2: exporters::otlp: %s is an older name of queue_size",
			 names[i]);
		STREQ(f.errors.warnings[0], warning);
		done(&f);
	}
	refuses("Timeout", (struct config_node)STRING("1s"),
		"f.yaml:1:2: exporters::otlp: unknown key Timeout; did you mean timeout?");
}

TEST(fields_refuse_one_option_under_two_names)
{
	struct config_node value = INT(7);
	struct config_entry entries[] = { { "QueueSize", AT(1, 1), &value }, { "queue_size", AT(2, 1), &value } };
	struct config_node map = { .kind = NODE_MAP, .count = 2, .map = entries };
	struct fixture f;

	setup(&f);
	decode_node(&f, &map);
	EQ(f.result, -EINVAL);
	STREQ(f.errors.errors[0],
	      "f.yaml:1:1: exporters::otlp: queue_size and QueueSize are the same option; remove one");
	done(&f);
}

TEST(fields_warn_of_what_comes_later)
{
	struct fixture f;

	setup(&f);
	decodes(&f, "warm_up", (struct config_node)BOOL(true));
	STREQ(f.errors.warnings[0], "f.yaml:1:2: exporters::otlp::warm_up: nothing is warmed up here");
	done(&f);
}

TEST(fields_read_lists_and_strings_with_commas)
{
	struct config_node *list[] = { &(struct config_node)STRING("a,b"), &(struct config_node)INT(2) };
	struct fixture f;

	setup(&f);
	decodes(&f, "names", (struct config_node){ .kind = NODE_LIST, .count = 2, .list = list });
	EQ(f.options.names.count, 2);
	STREQ(f.options.names.at[0], "a,b");
	STREQ(f.options.names.at[1], "2");
	decodes(&f, "names", (struct config_node)STRING("x, y,"));
	EQ(f.options.names.count, 3);
	STREQ(f.options.names.at[1], "y");
	STREQ(f.options.names.at[2], "");
	decodes(&f, "names", (struct config_node)STRING(""));
	EQ(f.options.names.count, 0);
	done(&f);
}

TEST(fields_read_pairs_as_a_map_or_a_list)
{
	struct config_node v = STRING("v"), n = INT(3);
	struct config_entry entries[] = { { "a", AT(1, 1), &v }, { "b", AT(2, 1), &n } };
	struct config_entry named[] = { { "name", AT(1, 1), &v }, { "value", AT(1, 5), &n } };
	struct config_node pair = { .kind = NODE_MAP, .count = 2, .map = named };
	struct config_node *list[] = { &pair };
	struct fixture f;

	setup(&f);
	decodes(&f, "headers", (struct config_node){ .kind = NODE_MAP, .count = 2, .map = entries });
	EQ(f.options.headers.count, 2);
	STREQ(f.options.headers.at[1].key, "b");
	STREQ(f.options.headers.at[1].value, "3");
	decodes(&f, "headers", (struct config_node){ .kind = NODE_LIST, .count = 1, .list = list });
	STREQ(f.options.headers.at[0].key, "v");
	STREQ(f.options.headers.at[0].value, "3");
	done(&f);
	refuses("headers", (struct config_node)STRING("x"),
		"f.yaml:1:9: exporters::otlp::headers: \"x\" is not a map of strings");
}

TEST(fields_read_sections_and_lists_of_them)
{
	struct config_node yes = BOOL(true), k = STRING("k");
	struct config_entry tls = { "insecure", AT(1, 1), &yes }, key = { "key", AT(1, 1), &k };
	struct config_node one = { .kind = NODE_MAP, .count = 1, .map = &key }, none = NOTHING;
	struct config_node *list[] = { &one, &none };
	struct fixture f;
	const struct element *rules;

	setup(&f);
	decodes(&f, "tls", (struct config_node)NOTHING);
	EQ(f.options.tls_present, true);
	decodes(&f, "tls", (struct config_node){ .kind = NODE_MAP, .count = 1, .map = &tls });
	EQ(f.options.tls.insecure, true);
	decodes(&f, "rules", (struct config_node){ .kind = NODE_LIST, .count = 1, .list = list });
	rules = f.options.rules.at;
	STREQ(rules[0].key, "k");
	EQ(rules[0].weight, 3);
	done(&f);
	refuses("rules", (struct config_node){ .kind = NODE_LIST, .count = 2, .list = list },
		"f.yaml:1:9: exporters::otlp::rules::1: missing key key: which");
	refuses("tls", (struct config_node)STRING("x"),
		"f.yaml:1:9: exporters::otlp::tls: expected a map of options, found a string");
}

TEST(fields_require_without_a_map_too)
{
	struct arena arena;
	struct config_errors errors;
	struct element e = { 0 };

	arena_init(&arena, 1 << 16);
	config_errors_init(&errors);
	EQ(config_decode(&arena, NULL, element_fields, "x", &e, &errors), -EINVAL);
	STREQ(errors.errors[0], "x: missing key key: which");
	config_errors_done(&errors);
	arena_done(&arena);
}

TEST(fields_require_a_string_only_where_it_has_no_default)
{
	struct config_node empty = STRING("");
	struct config_entry entry = { "key", AT(2, 3), &empty };
	struct config_node map = { .kind = NODE_MAP, .count = 1, .map = &entry, .place = AT(2, 1) };
	struct config_errors errors;
	struct arena arena;
	struct element e = { .key = "default" };

	arena_init(&arena, 1 << 16);
	config_errors_init(&errors);
	EQ(config_decode(&arena, NULL, element_fields, "x", &e, &errors), 0);
	STREQ(e.key, "default");
	EQ(config_decode(&arena, &map, element_fields, "x", &e, &errors), -EINVAL);
	STREQ(errors.errors[0], "f.yaml:2:1: x: missing key key: which");
	config_errors_done(&errors);
	arena_done(&arena);
}

TEST(fields_count_errors_past_the_maximum)
{
	struct config_entry entries[CONFIG_ERRORS_MAX + 10];
	struct config_node v = INT(1), map = { .kind = NODE_MAP, .count = CONFIG_ERRORS_MAX + 10, .map = entries };
	struct fixture f;

	for (u32 i = 0; i < CONFIG_ERRORS_MAX + 10; i++)
		entries[i] = (struct config_entry){ "unknown", AT(i + 1, 1), &v };
	setup(&f);
	decode_node(&f, &map);
	EQ(f.result, -EINVAL);
	EQ(f.errors.error_count, CONFIG_ERRORS_MAX + 10);
	done(&f);
}

TEST(fields_fail_cleanly_without_memory)
{
	struct fixture f;

	setup(&f);
	test_alloc_fail(0);
	decode(&f, "names", (struct config_node)STRING("a,b"));
	test_alloc_reset();
	EQ(f.result, -ENOMEM);
	EQ(f.options.names.count, 0);
	done(&f);
}
