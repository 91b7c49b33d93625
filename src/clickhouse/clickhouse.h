/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A ClickHouse server, spoken to by its HTTP interface. One thread owns it; net/client.h is below it.
 *
 *	clickhouse_begin() ... clickhouse_wait() -> done()	statements, and blocks of an INSERT
 *	clickhouse_query()					a question, waiting for the answer
 *
 * Errors are one sentence, made of what the server says.
 */
#ifndef CLICKHOUSE_CLICKHOUSE_H
#define CLICKHOUSE_CLICKHOUSE_H

#include <stddef.h>

#include "base/cleanup.h"
#include "base/types.h"
#include "clickhouse/tuples.h"
#include "config/fields.h"
#include "net/client.h"
#include "wire/compression.h"

struct clickhouse;
struct clickhouse_request;

/* Strings are borrowed; "" or NULL where not given. */
struct clickhouse_options {
	const char *url;			/* http://host:8123/?setting=value, https://host:8443 */
	const char *username, *password;	/* a password alone is that of the user default */
	const char *database;			/* of names without one */
	const struct config_pairs *settings;	/* of every statement; NULL: none */
	struct client_options client;
	s64 timeout_ns;				/* of one request; 0: none */
};

/* NULL, or what is wrong with it as the URL of a server: a literal. */
const char *clickhouse_url_problem(const char *url);

/* What may be shown of a URL, good or not: nothing of users, passwords and settings; cut. */
#define CLICKHOUSE_SHOWN_BYTES 160
void clickhouse_url_shown(const char *url, char ret_shown[CLICKHOUSE_SHOWN_BYTES]);

int clickhouse_new(const struct clickhouse_options *options, struct clickhouse **ret_server, struct buf *why);
void clickhouse_free(struct clickhouse *server);
DEFINE_CLEANUP(struct clickhouse *, clickhouse_free)

enum clickhouse_outcome {
	CLICKHOUSE_DONE,
	CLICKHOUSE_RETRY,		/* it may go well later, or have gone well: nobody knows */
	CLICKHOUSE_MISSING,		/* there is no such table or database */
	CLICKHOUSE_REFUSED,		/* it will never go well */
};

struct clickhouse_reply {
	enum clickhouse_outcome outcome;
	char reason[256];		/* "" if all went well */
	const struct client_answer *answer;
};

struct clickhouse_call {
	const char *sql;
	const void *data;			/* of an INSERT, borrowed until done; NULL: there is none */
	size_t data_bytes;
	enum compression packed;		/* how the data is compressed */
	const struct config_pair *settings;	/* of this statement */
	u32 setting_count;
	size_t answer_max;			/* bytes; 0: 64 KiB */
	void (*done)(void *arg, const struct clickhouse_reply *reply);
	void *arg;
};

/* -EINVAL: it cannot be sent; -ENOMEM. */
int clickhouse_begin(struct clickhouse *server, const struct clickhouse_call *call,
		     struct clickhouse_request **ret_request);
void clickhouse_cancel(struct clickhouse_request *request);		/* done() is not called */
void clickhouse_wait(struct clickhouse *server, int timeout_ms);	/* calls done() */
void clickhouse_wake(struct clickhouse *server);			/* from any thread */

/*
 * Asks, without FORMAT at the end of the SQL, and waits. `tuples` has a limit and gets the rows, checked to be of these
 * types (tuples.h). -errno and a sentence in `why`: -EAGAIN it may go well later, -ENOENT a table is missing, -EINVAL
 * it was refused, -E2BIG the answer is longer than the limit, -EBADMSG it cannot be read.
 */
int clickhouse_query(struct clickhouse *server, const char *sql, const char *types, struct tuples *tuples,
		     struct buf *why);

#endif
