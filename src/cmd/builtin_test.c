// SPDX-License-Identifier: Apache-2.0
#include "cmd/builtin.h"

#include <errno.h>

#include "base/buf.h"
#include "cmd/config_options.h"
#include "test.h"

static int write_it(const struct builtin_options *options, struct buf *yaml, char *error)
{
	buf_init(yaml, 65536);
	return builtin_write(options, yaml, error);
}

TEST(builtin_configuration_is_a_good_one)
{
	struct config_options options = { .builtin = { "[::1]:12345", "/a \"b\" $c", "2w,3GiB" } };
	struct config_errors errors;
	struct config *config = NULL;

	config_errors_init(&errors);
	EQ(config_options_load(&options, &config, &errors), 0);
	STREQ(config_get(config_get(config_get(config->root, "exporters"), "store"), "path")->text, "/a \"b\" $c");
	STREQ(config_get(config_get(config_get(config->root, "exporters"), "store"), "max_age")->text, "336h");
	EQ(config_get(config_get(config_get(config->root, "exporters"), "store"), "max_size_mib")->integer, 3072);
	config_free(config);
	config_errors_done(&errors);
}

TEST(builtin_configuration_with_clickhouse_writes_to_it_and_shows_it)
{
	struct config_options options = {
		.builtin = { .clickhouse = "http://ch:8123", .retention = "30d", .page_files = "ui",
			     .page_source = "/src,/b" },
	};
	const struct config_node *exporters, *page;
	struct config_errors errors;
	struct config *config = NULL;

	config_errors_init(&errors);
	EQ(config_options_load(&options, &config, &errors), 0);
	exporters = config_get(config->root, "exporters");
	page = config_get(config_get(config->root, "extensions"), "page");
	OK(!config_get(exporters, "store"));
	STREQ(config_get(config_get(exporters, "clickhouse"), "endpoint")->text, "http://ch:8123");
	STREQ(config_get(config_get(exporters, "clickhouse"), "ttl")->text, "720h");
	STREQ(config_get(config_get(page, "clickhouse"), "endpoint")->text, "http://ch:8123");
	STREQ(config_get(page, "files")->text, "ui");
	STREQ(config_get(page, "source")->text, "/src,/b");
	config_free(config);
	/* A week, where nothing is said, as in a store of its own. */
	options.builtin.retention = NULL;
	EQ(config_options_load(&options, &config, &errors), 0);
	exporters = config_get(config->root, "exporters");
	STREQ(config_get(config_get(exporters, "clickhouse"), "ttl")->text, "168h");
	config_free(config);
	config_errors_done(&errors);
}

static bool limits_senders(const struct builtin_options *builtin)
{
	struct config_options options = { .builtin = *builtin };
	const struct config_node *governor;
	struct config_errors errors;
	struct config *config = NULL;
	bool limits;

	config_errors_init(&errors);
	EQ(config_options_load(&options, &config, &errors), 0);
	governor = config_get(config_get(config_get(config->root, "receivers"), "profiling"), "governor");
	limits = config_get(governor, "senders")->boolean;
	config_free(config);
	config_errors_done(&errors);
	return limits;
}

TEST(builtin_holds_senders_to_the_budget_unless_it_is_opened_to_others)
{
	EQ(limits_senders(&(struct builtin_options){ 0 }), true);
	EQ(limits_senders(&(struct builtin_options){ .listen = "127.0.0.2:1234" }), true);
	EQ(limits_senders(&(struct builtin_options){ .listen = "[::1]:1234" }), true);
	EQ(limits_senders(&(struct builtin_options){ .listen = ":1234" }), false);
	EQ(limits_senders(&(struct builtin_options){ .listen = "10.0.0.1:1234" }), false);
	EQ(limits_senders(&(struct builtin_options){ .clickhouse = "http://ch:8123" }), false);
}

TEST(builtin_takes_a_port_alone_for_all_addresses)
{
	struct config_options options = { .builtin = { .listen = ":12345" } };
	struct config_errors errors;
	struct config *config = NULL;

	config_errors_init(&errors);
	EQ(config_options_load(&options, &config, &errors), 0);
	STREQ(config_get(config_get(config_get(config->root, "extensions"), "page"), "endpoint")->text,
	      "0.0.0.0:12345");
	config_free(config);
	config_errors_done(&errors);
}

TEST(builtin_options_that_make_no_sense_are_refused)
{
	static const struct builtin_options bad[] = {
		{ .listen = "localhost" }, { .listen = ":" },	{ .listen = "localhost:http" },
		{ .retention = "" },	   { .retention = "7" },	{ .retention = "7y" },
		{ .retention = "-7d" },	   { .retention = "0d" },	{ .retention = "7d,2GB,x" },
		{ .retention = "99999999999d" },
		{ .clickhouse = "http://ch:8123", .store_path = "/a" },
		{ .clickhouse = "http://ch:8123", .retention = "7d,2GB" },
	};
	char error[OPTIONS_ERROR_MAX];
	struct buf yaml;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		EQ(write_it(&bad[i], &yaml, error), -EINVAL);
		OK(strstr(error, bad[i].listen ? "--listen" :
				 bad[i].store_path ? "--store.path" : "--store.retention"));
		buf_done(&yaml);
	}
}
