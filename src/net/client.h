/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests to others, on libcurl (loaded at first use). A struct client has a
 * curl_multi of its own and belongs to one thread, but client_wake().
 *
 *	client_begin() ... client_wait() -> done callbacks
 *
 * client_get() is for the few who ask once and can wait.
 */
#ifndef NET_CLIENT_H
#define NET_CLIENT_H

#include <stdbool.h>
#include <stddef.h>

#include "abi.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "config/fields.h"
#include "net/server.h"		/* struct http_header */

struct client;
struct client_request;

struct tls_client_options {
	bool insecure;			/* no TLS (gRPC) */
	bool insecure_skip_verify;
	const char *server_name_override;
	const char *ca_file, *ca_pem, *cert_file, *cert_pem, *key_file, *key_pem;	/* "" where not given */
	const char *min_version, *max_version;
	bool include_system_ca_certs_pool;
	s64 reload_interval_ns;
};
extern const struct config_field tls_client_fields[];

struct client_options {
	const struct tls_client_options *tls;	/* NULL: the defaults */
	const char *unix_socket;		/* path, or "" */
	const char *proxy_url;			/* "": as the environment says */
	const char *user_agent;			/* "": wick/VERSION */
	u32 connections_max;
	s64 idle_timeout_ns;
	s64 keepalive_time_ns, keepalive_timeout_ns;	/* HTTP/2 pings; 0: none */
};

struct client_answer {
	int error;			/* 0, or -errno: no answer came; status is 0 then */
	char error_text[256];
	int status;			/* of HTTP */
	struct buf body;
	bool too_large;			/* the body was longer than allowed, and is cut */
	/* Headers and trailers, the last of each name. */
	u32 header_count;
	const struct http_header *headers;
};

struct client_call {
	const char *method;		/* "GET", "POST" */
	const char *url;
	const struct http_header *headers;
	u32 header_count;
	const void *body;		/* borrowed until done */
	size_t body_bytes;
	bool http2_only;		/* h2c with prior knowledge, or by ALPN: gRPC */
	s64 timeout_ns;			/* 0: none */
	size_t answer_max;		/* bytes of the body; 0: 64 KiB */
	void (*done)(void *arg, const struct client_answer *answer);
	void *arg;
};

int client_new(const struct client_options *options, struct client **ret_client, struct buf *why);
void client_free(struct client *client);
DEFINE_CLEANUP(struct client *, client_free)

int client_begin(struct client *client, const struct client_call *call, struct client_request **ret_request);
void client_cancel(struct client *client, struct client_request *request);	/* done() is not called */
void client_wait(struct client *client, int timeout_ms);			/* calls done() */
void client_wake(struct client *client);

const char *client_answer_header(const struct client_answer *answer, const char *name);	/* lower case; NULL: none */

/* One GET, waiting: 0 and the answer's status and body; -errno and a sentence in `why`. */
int client_get(const struct client_options *options, const char *url, const struct http_header *headers, u32 count,
	       s64 timeout_ns, struct buf *body, int *ret_status, struct buf *why);

#endif
