/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request of a client, and all that libcurl has to be told about it. Internal to net/client.
 */
#ifndef NET_CLIENT_REQUEST_H
#define NET_CLIENT_REQUEST_H

#include "base/arena.h"
#include "base/curl_library.h"
#include "net/client.h"
#include "net/client_tls.h"

#define CLIENT_HEADERS_MAX 64u

/*
 * HTTP/2 in libcurl 7.88.0 and 7.88.1 (Debian 12):
 *
 *  - Without TLS, a request with prior knowledge breaks a connection that is already HTTP/2
 *    (curl/curl#10643, mended in 8.0.0). So one such request opens a connection of its own, and later ones,
 *    that do not say what they want, find it. Should they find none, they may not open one: they start again
 *    as the first did.
 *  - Of several uploads on one connection some fail in the framing layer, others end without their trailers.
 *    So a connection has one request at a time.
 */
enum h2c_way { H2C_NONE, H2C_OPENS, H2C_JOINS };

struct client_request {
	struct client *client;
	struct client_request *next, **link;
	CURL *curl;
	struct client_call call;	/* prefix, body, done and arg are used */
	size_t sent;			/* of prefix and body */
	enum h2c_way way;
	bool found_none;		/* JOINS: there was no connection to join */
	bool is_second_try;
	struct curl_slist *headers, *connect_to;
	struct client_answer answer;
	struct arena arena;		/* of header names and values */
	struct http_header seen[CLIENT_HEADERS_MAX];
	char error_text[CURL_ERROR_SIZE];
};

struct client {
	const struct curl_library *curl;
	CURLM *multi;
	struct client_options options;
	struct client_tls tls;
	bool is_7_88;			/* see enum h2c_way */
	u32 h2c_idle;			/* connections that can be joined, unless the server has closed them */
	struct client_request *running, *spare;
	u32 spare_count;
};

/* With a handle, fresh or used before; NULL without memory. */
struct client_request *client_request_new(struct client *client);
void client_request_free(struct client_request *request);

/* For the next one; or frees it, if enough are kept. */
void client_request_recycle(struct client_request *request);

/* -EINVAL: a URL or header that cannot be sent; -ENOMEM. */
int client_request_set_up(struct client_request *request, const struct client_call *call);

/* Chooses which of the ways of enum h2c_way it goes. */
CURLcode client_request_set_way(struct client_request *request);

#endif
