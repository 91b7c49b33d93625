/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends batches as OTLP requests: what otlp_grpc and otlp_http have in common.
 *
 * Bytes that need no compression go out as they came in, without a copy. Its own thread, the sender's, does all of it.
 */
#ifndef EXPORTERS_OTLP_SEND_H
#define EXPORTERS_OTLP_SEND_H

#include <stdbool.h>

#include "base/cleanup.h"
#include "config/fields.h"
#include "net/client.h"
#include "pipeline/sender.h"
#include "wire/compression.h"

struct otlp_send;

/* Indices of otlp_compressions; only the first three are spoken here. */
enum otlp_compression { OTLP_GZIP, OTLP_NONE, OTLP_ZSTD, OTLP_COMPRESSIONS_SPOKEN };
extern const char *const otlp_compressions[];

struct otlp_auth {
	const char *authenticator;		/* id of an extension; "" none */
};
extern const struct config_field otlp_auth_fields[];

struct batch;
struct client_answer;

/* What a destination that is more particular than OTLP needs. Each may be NULL. The sender's thread calls them. */
struct otlp_send_hooks {
	/* Before an attempt. True: it has ended it, by sender_done() or sender_split(). */
	bool (*prepare)(void *arg, struct send *send);
	/* The body, before it is compressed, instead of the batch's bytes. */
	int (*encode)(void *arg, struct batch *batch, struct buf *out);
	/* An answer came; result is what it means in OTLP, and may be changed. True: it has ended the attempt. */
	bool (*settle)(void *arg, struct send *send, const struct client_answer *answer, struct send_result *result);
	size_t answer_max;		/* bytes of an answer; 0: as in OTLP */
};

/* Strings are borrowed, but those of the URL and the socket, which are copied. */
struct otlp_send_options {
	const struct sender_options *sender;
	struct client_options client;
	const char *url;
	bool grpc, json, http1_only, has_tls;
	int compression, level;			/* enum otlp_compression; 0: the default level */
	const struct config_pairs *headers;
	const char *authenticator;
	const char *authority;			/* gRPC: instead of the URL's host; "" */
	struct http_header more_header;		/* of each request, after those; its name is NULL if there is none */
	const char *content_type;		/* HTTP: instead of OTLP's; NULL */
	const struct otlp_send_hooks *hooks;	/* or NULL */
	void *hooks_arg;
};

int otlp_send_new(const struct component_setup *setup, const struct otlp_send_options *options,
		  struct otlp_send **ret_self, struct buf *why);
int otlp_send_start(void *self, struct buf *why);
int otlp_send_consume(void *self, struct batch *batch);
void otlp_send_stop(void *self, u64 deadline_ns);
void otlp_send_free(void *self);

/* For check(): refuses what is not spoken. */
void otlp_compression_check(int compression, struct config_place place, const char *path,
			    struct config_errors *errors);

#endif
