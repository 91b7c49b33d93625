/* SPDX-License-Identifier: Apache-2.0 */
/* What extensions that serve pages have in common: where they listen, and how they answer. */
#ifndef EXTENSIONS_HTTP_ENDPOINT_H
#define EXTENSIONS_HTTP_ENDPOINT_H

#include <stdbool.h>

#include "base/types.h"
#include "config/fields.h"
#include "net/server.h"
#include "pipeline/component.h"

struct buf;
struct service;

struct http_endpoint_options {
	const char *endpoint;
	struct config_texts hosts;		/* names of this machine that it may be asked by */
	bool has_tls;
	struct tls_server_options tls;
	s64 read_timeout_ns, read_header_timeout_ns, write_timeout_ns, idle_timeout_ns;	/* 0: the server's own */
	bool keep_alives;
	int transport;				/* 0: tcp, all there is */
	const char *authenticator;		/* id of an extension that requests must satisfy; "" none */
};

extern const struct config_field http_endpoint_auth_fields[];
extern const char *const http_endpoint_transports[];

/* Entries of a table for the Collector's HTTP server settings, and their defaults. */
#define HTTP_ENDPOINT_DEFAULTS(address) { \
	.endpoint = (address), .keep_alives = true, .authenticator = "", \
	.tls = { .cert_file = "", .key_file = "", .cert_pem = "", .key_pem = "", .client_ca_file = "", \
		 .min_version = "", .max_version = "" } }
#define HTTP_ENDPOINT_FIELDS(type, member) \
	{ "endpoint", CONFIG_TEXT, FIELD(type, member.endpoint), .required = true, \
	  .help = "address and port to listen on" }, \
	{ "tls", CONFIG_SECTION, FIELD(type, member.tls), .fields = tls_server_fields, \
	  .present = FIELD_PRESENT(type, member.has_tls), .help = "serve by TLS" }, \
	{ "read_timeout", CONFIG_DURATION, FIELD(type, member.read_timeout_ns), \
	  .help = "to send a whole request; 0: the default" }, \
	{ "read_header_timeout", CONFIG_DURATION, FIELD(type, member.read_header_timeout_ns), \
	  .help = "to send its headers; 0: the default" }, \
	{ "write_timeout", CONFIG_DURATION, FIELD(type, member.write_timeout_ns), \
	  .help = "to take a part of an answer; 0: the default" }, \
	{ "keep_alives_enabled", CONFIG_BOOL, FIELD(type, member.keep_alives), \
	  .help = "let a connection be used for more than one request" }, \
	{ "idle_timeout", CONFIG_DURATION, FIELD(type, member.idle_timeout_ns), \
	  .help = "of a connection without requests; 0: the default" }, \
	{ "transport", CONFIG_CHOICE, FIELD(type, member.transport), .choices = http_endpoint_transports, \
	  .help = "tcp" }, \
	{ "auth", CONFIG_SECTION, FIELD(type, member), .fields = http_endpoint_auth_fields, \
	  .help = "who may ask" }, \
	{ "allowed_hosts", CONFIG_TEXTS, FIELD(type, member.hosts), \
	  .help = "names of this machine that it may be asked by" }, \
	{ "cors", CONFIG_REFUSED, .help = "this page is not for scripts of other sites; remove it" }, \
	{ "max_request_body_size", CONFIG_REFUSED, .help = "requests have no body here; remove it" }, \
	{ "include_metadata", CONFIG_REFUSED, .help = "nothing is passed on from these requests; remove it" }, \
	{ "response_headers", CONFIG_REFUSED, .help = "headers cannot be added to these pages; remove it" }, \
	{ "compression_algorithms", CONFIG_REFUSED, .help = "requests have no body here; remove it" }, \
	{ "middlewares", CONFIG_REFUSED, .help = "there are no middlewares; remove it" }

#define HTTP_ENDPOINT_ROUTES_MAX 32

struct http_endpoint_route {
	const struct http_endpoint *endpoint;
	void (*handle)(void *arg, struct exchange *exchange);
};

/* Embedded by its owner, zeroed before; stays where it is while it is open. */
struct http_endpoint {
	struct listener *listener;
	void *arg;
	const struct authenticator_ops *authenticator;	/* or NULL */
	void *authenticator_self;
	struct http_endpoint_route routes[HTTP_ENDPOINT_ROUTES_MAX];
	u32 route_count;
};

/* Begins to listen; arg is given to the handlers. `why` gets a sentence. */
int http_endpoint_open(struct http_endpoint *endpoint, struct service *service,
		       const struct http_endpoint_options *options, void *arg, struct buf *why);
int http_endpoint_route(struct http_endpoint *endpoint, const char *method, const char *path,
			void (*handle)(void *arg, struct exchange *exchange), struct buf *why);
/* The same for requests that have a body. */
int http_endpoint_route_body(struct http_endpoint *endpoint, const char *method, const char *path, size_t body_max,
			     void (*handle)(void *arg, struct exchange *exchange), struct buf *why);
/* Ends all routes; accepts one that was never opened. */
void http_endpoint_close(struct http_endpoint *endpoint, u64 deadline_ns);

#define CONTENT_TEXT "text/plain; charset=utf-8"
#define CONTENT_HTML "text/html; charset=utf-8"
#define CONTENT_JSON "application/json"

/* Ends the exchange; the body is taken over. A body that did not fit in memory is answered with 500. */
void http_reply(struct exchange *exchange, int status, const char *content_type, struct buf *body);
void http_reply_text(struct exchange *exchange, int status, const char *text);

#endif
