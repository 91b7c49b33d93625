/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store that a page shows: the tables of a ClickHouse server, which exporters `clickhouse` of any machines write,
 * if it names one; else what an exporter here has open, rather a `store` of this machine than its own `clickhouse`.
 */
#ifndef WEB_PAGE_STORE_H
#define WEB_PAGE_STORE_H

#include "config/fields.h"
#include "net/client.h"

struct store;

struct page_store_options {
	const char *directory;		/* "": that of any exporter */
	struct page_clickhouse {
		const char *endpoint;	/* "": none */
		const char *database, *username, *password;
		struct tls_client_options tls;
		s64 timeout_ns;
	} clickhouse;
};

#define PAGE_STORE_DEFAULTS							\
	{ .directory = "", .clickhouse = { .endpoint = "", .database = "default", .username = "", .password = "", \
					   .timeout_ns = 30000000000 } }
extern const struct config_field page_clickhouse_fields[];

/* What goes with what, for component_ops.check(). */
void page_store_check(const struct page_store_options *options, struct config_place place, const char *path,
		      struct config_errors *errors);

struct page_store {
	const struct page_store_options *options;
	struct store *clickhouse;	/* NULL: stores of this machine are shown */
};

/* Options are borrowed. A server that is away is not waited for. */
int page_store_open(struct page_store *page_store, const struct page_store_options *options, struct buf *why);
void page_store_close(struct page_store *page_store);

/* Any thread: as long as it is borrowed it stays open. NULL: there is none. */
struct store *page_store_borrow(struct page_store *page_store);
void page_store_return(struct page_store *page_store, struct store *store);

#endif
