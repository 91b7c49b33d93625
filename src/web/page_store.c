// SPDX-License-Identifier: Apache-2.0
#include "web/page_store.h"

#include <string.h>
#include <unistd.h>

#include "store/clickhouse.h"
#include "store/shared.h"

const struct config_field page_clickhouse_fields[] = {
	{ "endpoint", CONFIG_TEXT, FIELD(struct page_clickhouse, endpoint),
	  .help = "http://host:8123 or https://host:8443; empty: a store of this machine is shown" },
	{ "database", CONFIG_TEXT, FIELD(struct page_clickhouse, database), .help = "where the tables are" },
	{ "username", CONFIG_TEXT, FIELD(struct page_clickhouse, username), .help = "who asks; reading is enough" },
	{ "password", CONFIG_SECRET, FIELD(struct page_clickhouse, password), .help = "of the user" },
	{ "tls", CONFIG_SECTION, FIELD(struct page_clickhouse, tls), .fields = tls_client_fields,
	  .help = "TLS of https://" },
	{ "timeout", CONFIG_DURATION, FIELD(struct page_clickhouse, timeout_ns), .min = 1e8, .max = 3.6e12,
	  .help = "how long an answer may take" },
	{ 0 },
};

void page_store_check(const struct page_store_options *options, struct config_place place, const char *path,
		      struct config_errors *errors)
{
	const struct page_clickhouse *clickhouse = &options->clickhouse;
	const char *problem = *clickhouse->endpoint ? clickhouse_url_problem(clickhouse->endpoint) : NULL;
	char shown[CLICKHOUSE_SHOWN_BYTES];

	clickhouse_url_shown(clickhouse->endpoint, shown);
	if (problem)
		config_error(errors, place, path, "clickhouse: endpoint: %s: %s", shown, problem);
	if (*clickhouse->endpoint && *options->directory)
		config_error(errors, place, path, "store and clickhouse are both given; a page shows one of them");
	tls_client_check(&clickhouse->tls, place, path, errors);
}

int page_store_open(struct page_store *page_store, const struct page_store_options *options, struct buf *why)
{
	const struct page_clickhouse *clickhouse = &options->clickhouse;
	struct store_clickhouse_options store_options = {
		.server = { .url = clickhouse->endpoint, .username = clickhouse->username,
			    .password = clickhouse->password, .database = clickhouse->database,
			    .client = { .tls = &clickhouse->tls }, .timeout_ns = clickhouse->timeout_ns },
	};
	char host[256] = "localhost";

	*page_store = (struct page_store){ .options = options };
	if (!*clickhouse->endpoint)
		return 0;
	(void)gethostname(host, sizeof(host) - 1);
	store_options.host = host;
	return store_open_clickhouse(&store_options, &page_store->clickhouse, why);
}

void page_store_close(struct page_store *page_store)
{
	store_close(TAKE(page_store->clickhouse));
}

struct store *page_store_borrow(struct page_store *page_store)
{
	return page_store->clickhouse ? page_store->clickhouse : store_borrow(page_store->options->directory);
}

void page_store_return(struct page_store *page_store, struct store *store)
{
	if (store != page_store->clickhouse)
		store_release(store);
}
