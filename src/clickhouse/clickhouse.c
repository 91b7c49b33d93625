// SPDX-License-Identifier: Apache-2.0
#include "clickhouse/clickhouse.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "clickhouse/exception.h"

#define URL_BYTES_MAX (64u << 10)

struct clickhouse_request {
	struct clickhouse_request *next, **link;
	struct clickhouse *server;
	struct client_request *client_request;
	char *sql;				/* where it is the body */
	void (*done)(void *arg, const struct clickhouse_reply *reply);
	void *arg;
};

struct clickhouse {
	struct clickhouse_options options;
	struct client *client;
	struct clickhouse_request *requests;
	struct buf url;				/* with the settings of all statements */
};

static bool is_given(const char *text)
{
	return text && *text;
}

/* ---- URLs ---------------------------------------------------------------------------------- */

const char *clickhouse_url_problem(const char *url)
{
	const char *host;

	if (!strncmp(url, "tcp://", 6) || !strncmp(url, "clickhouse://", 13))
		return "wick speaks ClickHouse's HTTP interface: use http://host:8123 or https://host:8443";
	if (!strncmp(url, "http://", 7))
		host = url + 7;
	else if (!strncmp(url, "https://", 8))
		host = url + 8;
	else
		return "it is no URL such as http://host:8123 or https://host:8443";
	if (!*host || *host == '/' || *host == '?')
		return "it names no host";
	if (strlen(url) > URL_BYTES_MAX / 8)
		return "it is too long";
	for (const char *c = url; *c; c++) {
		if (!isgraph((unsigned char)*c) || *c == '#')
			return "there is a character in it that no URL has";
	}
	return NULL;
}

void clickhouse_url_shown(const char *url, char ret_shown[CLICKHOUSE_SHOWN_BYTES])
{
	const char *scheme = strstr(url, "://"), *host = scheme ? scheme + 3 : url;
	size_t bytes = strcspn(host, "?");
	const char *user_end = bytes ? memrchr(host, '@', bytes) : NULL;

	if (user_end)
		bytes -= (size_t)(user_end + 1 - host);
	if (bytes > CLICKHOUSE_SHOWN_BYTES)
		bytes = CLICKHOUSE_SHOWN_BYTES;
	(void)snprintf(ret_shown, CLICKHOUSE_SHOWN_BYTES, "%.*s%.*s", host - url <= 16 ? (int)(host - url) : 0, url,
		       (int)bytes, user_end ? user_end + 1 : host);
}

static void add_encoded(struct buf *url, const char *text)
{
	for (const char *c = text; *c; c++) {
		if (isalnum((unsigned char)*c) || strchr("-._~", *c))
			buf_add(url, c, 1);
		else
			buf_addf(url, "%%%02X", (unsigned char)*c);
	}
}

static void add_setting(struct buf *url, const char *name, const char *value)
{
	buf_add(url, "&", 1);
	add_encoded(url, name);
	buf_add(url, "=", 1);
	add_encoded(url, value);
}

/*
 * As it was given, with a path and the start of a query. A server waits until all is done before it answers, so that
 * what goes wrong late is an error and no broken answer.
 */
static void make_url(const struct clickhouse_options *options, struct buf *url)
{
	const char *query = strchr(options->url, '?');
	size_t bytes = query ? (size_t)(query - options->url) : strlen(options->url);
	const char *host = strstr(options->url, "://") + 3;
	bool has_path = memchr(host, '/', bytes - (size_t)(host - options->url));
	const struct config_pairs *settings = options->settings;

	buf_add(url, options->url, bytes);
	buf_addf(url, "%s?wait_end_of_query=1", has_path ? "" : "/");
	if (is_given(options->database))
		add_setting(url, "database", options->database);
	if (query && query[1])
		buf_addf(url, "&%s", query + 1);
	for (u32 i = 0; settings && i < settings->count; i++)
		add_setting(url, settings->at[i].key, settings->at[i].value);
}

static int make_call_url(struct clickhouse *server, const struct clickhouse_call *call, struct buf *url)
{
	buf_add(url, server->url.data, server->url.len);
	for (u32 i = 0; i < call->setting_count; i++)
		add_setting(url, call->settings[i].key, call->settings[i].value);
	if (call->data)
		add_setting(url, "query", call->sql);
	buf_add(url, "", 1);
	return buf_err(url) == -E2BIG ? -EINVAL : buf_err(url);
}

/* ---- Replies -------------------------------------------------------------------------------- */

static void tell_failure(const struct client_answer *answer, struct clickhouse_reply *reply)
{
	const char *header = client_answer_header(answer, "x-clickhouse-exception-code");
	struct clickhouse_exception exception;

	clickhouse_exception_parse(answer->body.data, answer->body.len, &exception);
	if (!exception.code && header)
		exception.code = (u32)strtoul(header, NULL, 10);
	reply->outcome = clickhouse_exception_is_missing(&exception) ? CLICKHOUSE_MISSING :
			 clickhouse_exception_is_permanent(&exception, answer->status) ? CLICKHOUSE_REFUSED :
											  CLICKHOUSE_RETRY;
	if (exception.code)
		(void)snprintf(reply->reason, sizeof(reply->reason), "%s (code %u%s%s)",
			       *exception.text ? exception.text : "the server failed", exception.code,
			       *exception.name ? ", " : "", exception.name);
	else
		(void)snprintf(reply->reason, sizeof(reply->reason), "HTTP status %d%s%s", answer->status,
			       *exception.text ? ": " : "", exception.text);
}

static void make_reply(const struct client_answer *answer, struct clickhouse_reply *reply)
{
	*reply = (struct clickhouse_reply){ .answer = answer };
	if (answer->error) {
		reply->outcome = CLICKHOUSE_RETRY;
		(void)snprintf(reply->reason, sizeof(reply->reason), "%.*s", (int)sizeof(reply->reason) - 1,
			       answer->error_text);
	} else if (answer->status != 200 || client_answer_header(answer, "x-clickhouse-exception-code")) {
		tell_failure(answer, reply);
	}
}

/* ---- Requests ------------------------------------------------------------------------------- */

static void request_free(struct clickhouse_request *request)
{
	if (request->link) {
		*request->link = request->next;
		if (request->next)
			request->next->link = request->link;
	}
	free(request->sql);
	free(request);
}

static void answered(void *arg, const struct client_answer *answer)
{
	struct clickhouse_request *request = arg;
	void (*done)(void *, const struct clickhouse_reply *) = request->done;
	void *done_arg = request->arg;
	struct clickhouse_reply reply;

	make_reply(answer, &reply);
	request_free(request);
	done(done_arg, &reply);
}

static struct clickhouse_request *request_new(struct clickhouse *server, const struct clickhouse_call *call)
{
	struct clickhouse_request *request = calloc(1, sizeof(*request));

	if (!request)
		return NULL;
	*request = (struct clickhouse_request){ .server = server, .done = call->done, .arg = call->arg };
	if (!call->data)
		request->sql = strdup(call->sql);
	if (!call->data && !request->sql) {
		request_free(request);
		return NULL;
	}
	request->next = server->requests;
	request->link = &server->requests;
	if (request->next)
		request->next->link = &request->next;
	server->requests = request;
	return request;
}

static u32 add_headers(const struct clickhouse *server, const struct clickhouse_call *call, struct http_header *headers)
{
	static const char *const encodings[] = {
		[COMPRESSION_GZIP] = "gzip", [COMPRESSION_ZSTD] = "zstd", [COMPRESSION_ZLIB] = "deflate",
	};
	const struct clickhouse_options *options = &server->options;
	u32 count = 0;

	if (is_given(options->username) || is_given(options->password)) {
		headers[count++] = (struct http_header){ "x-clickhouse-user",
							 is_given(options->username) ? options->username : "default" };
		headers[count++] = (struct http_header){ "x-clickhouse-key",
							 is_given(options->password) ? options->password : "" };
	}
	if (call->data && call->packed != COMPRESSION_NONE)
		headers[count++] = (struct http_header){ "content-encoding", encodings[call->packed] };
	headers[count++] = (struct http_header){ "content-type", "application/octet-stream" };
	return count;
}

int clickhouse_begin(struct clickhouse *server, const struct clickhouse_call *call,
		     struct clickhouse_request **ret_request)
{
	_cleanup_(buf_done) struct buf url;
	struct http_header headers[4];
	struct clickhouse_request *request;
	int r;

	buf_init(&url, URL_BYTES_MAX);
	r = make_call_url(server, call, &url);
	if (r < 0)
		return r;
	request = request_new(server, call);
	if (!request)
		return -ENOMEM;
	assert(call->data || request->sql);
	r = client_begin(server->client, &(struct client_call){
		.method = "POST", .url = url.data, .headers = headers,
		.header_count = add_headers(server, call, headers),
		.body = call->data ? call->data : request->sql,
		.body_bytes = call->data ? call->data_bytes : strlen(request->sql),
		.http1_only = true, .timeout_ns = server->options.timeout_ns, .answer_max = call->answer_max,
		.done = answered, .arg = request,
	}, &request->client_request);
	if (r < 0)
		request_free(request);
	else if (ret_request)
		*ret_request = request;
	return r;
}

void clickhouse_cancel(struct clickhouse_request *request)
{
	client_cancel(request->server->client, request->client_request);
	request_free(request);
}

void clickhouse_wait(struct clickhouse *server, int timeout_ms)
{
	client_wait(server->client, timeout_ms);
}

void clickhouse_wake(struct clickhouse *server)
{
	client_wake(server->client);
}

/* ---- Questions ------------------------------------------------------------------------------ */

struct asking {
	struct tuples *tuples;
	struct buf *why;
	bool done;
	int result;
};

static void got(void *arg, const struct clickhouse_reply *reply)
{
	static const int errors[] = {
		[CLICKHOUSE_RETRY] = -EAGAIN, [CLICKHOUSE_MISSING] = -ENOENT, [CLICKHOUSE_REFUSED] = -EINVAL,
	};
	struct asking *asking = arg;

	asking->done = true;
	asking->result = errors[reply->outcome];
	if (reply->outcome != CLICKHOUSE_DONE) {
		buf_addf(asking->why, "%s", reply->reason);
	} else if (reply->answer->too_large) {
		buf_addf(asking->why, "the answer is longer than %zu bytes", asking->tuples->body.max);
		asking->result = -E2BIG;
	} else {
		buf_add(&asking->tuples->body, reply->answer->body.data, reply->answer->body.len);
		asking->result = buf_err(&asking->tuples->body);
	}
}

int clickhouse_query(struct clickhouse *server, const char *sql, const char *types, struct tuples *tuples,
		     struct buf *why)
{
	static const struct config_pair format = { "default_format", "RowBinaryWithNamesAndTypes" };
	struct asking asking = { .tuples = tuples, .why = why };
	int r = clickhouse_begin(server, &(struct clickhouse_call){
		.sql = sql, .settings = &format, .setting_count = 1, .answer_max = tuples->body.max, .done = got,
		.arg = &asking,
	}, NULL);

	if (r < 0) {
		buf_addf(why, "the statement cannot be sent: %s", strerror(-r));
		return r;
	}
	while (!asking.done)
		clickhouse_wait(server, -1);
	if (asking.result < 0)
		return asking.result;
	r = tuples_begin(tuples, types);
	if (r < 0)
		buf_addf(why, "the answer cannot be read, or is of other types than asked for");
	return r;
}

/* They are headers: a file that a password is read from may end in a line feed. */
static bool can_be_sent(const char *text)
{
	for (const char *c = text ? text : ""; *c; c++) {
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			return false;
	}
	return true;
}

/* ---- Life ----------------------------------------------------------------------------------- */

int clickhouse_new(const struct clickhouse_options *options, struct clickhouse **ret_server, struct buf *why)
{
	_cleanup_(clickhouse_freep) struct clickhouse *server = calloc(1, sizeof(*server));
	const char *problem = clickhouse_url_problem(options->url);
	char shown[CLICKHOUSE_SHOWN_BYTES];
	int r;

	if (!server)
		return -ENOMEM;
	if (problem) {
		clickhouse_url_shown(options->url, shown);
		buf_addf(why, "%s: %s", shown, problem);
		return -EINVAL;
	}
	if (!can_be_sent(options->username) || !can_be_sent(options->password)) {
		buf_addf(why, "username or password: there is a character in it, such as the end of a line, that "
			      "cannot be sent");
		return -EINVAL;
	}
	server->options = *options;
	buf_init(&server->url, URL_BYTES_MAX / 2);
	make_url(options, &server->url);
	r = buf_err(&server->url);
	if (r == -E2BIG)
		buf_addf(why, "the settings are longer than %u bytes", URL_BYTES_MAX / 2);
	if (r == 0)
		r = client_new(&server->options.client, &server->client, why);
	if (r < 0)
		return r;
	*ret_server = TAKE(server);
	return 0;
}

void clickhouse_free(struct clickhouse *server)
{
	if (!server)
		return;
	while (server->requests)
		clickhouse_cancel(server->requests);
	client_free(server->client);
	buf_done(&server->url);
	free(server);
}
