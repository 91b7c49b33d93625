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
#include "exporters/http_send.h"
#include "pipeline/component.h"
#include "wire/compression.h"

/* Indices of otlp_compressions; only the first three are spoken here. */
enum otlp_compression { OTLP_GZIP, OTLP_NONE, OTLP_ZSTD, OTLP_COMPRESSIONS_SPOKEN };
extern const char *const otlp_compressions[];

struct otlp_auth {
	const char *authenticator;		/* id of an extension; "" none */
};
extern const struct config_field otlp_auth_fields[];

struct batch;

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
	/* What a destination that is more particular than OTLP wants; each may be NULL, or 0. */
	const struct http_send_ops *ops;	/* with otlp_send_make and otlp_send_outcome among them */
	int (*encode)(struct batch *batch, struct buf *out);	/* the body, before it is compressed */
	size_t answer_max;			/* bytes of an answer */
};

/* A component, or its first member; component_ops.sends is http_sends. */
struct otlp_send {
	struct http_send http;
	struct otlp_send_options options;
	char *url, *socket;
	char timeout[32];			/* grpc-timeout */
	const struct authenticator_ops *authenticator;
	void *authenticator_self;
};

/* What has failed is to be done with, too. */
int otlp_send_init(struct otlp_send *self, const struct component_setup *setup, const struct otlp_send_options *options,
		   struct buf *why);
void otlp_send_done(struct otlp_send *self);

/* The same on the heap, as a component. */
int otlp_send_new(const struct component_setup *setup, const struct otlp_send_options *options, void **ret_self,
		  struct buf *why);
void otlp_send_free(void *self);

int otlp_send_make(void *self, struct batch *batch, struct http_request *request);
void otlp_send_outcome(void *self, const struct client_answer *answer, struct send_result *ret_result);

/* For check(): refuses what is not spoken. */
void otlp_compression_check(int compression, struct config_place place, const char *path,
			    struct config_errors *errors);

#endif
