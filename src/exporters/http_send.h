/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends each batch of a queue as one HTTP request: what all exporters that speak HTTP have in common. They say what the
 * request is and what the answer means; the sender's thread does the rest.
 *
 *	queue -> make() -> request in flight -> outcome() -> done, or again, or dropped
 *
 * Where requests and batches are not the same, prepare() and settle() end attempts themselves, by sender_split() or
 * sender_done().
 */
#ifndef EXPORTERS_HTTP_SEND_H
#define EXPORTERS_HTTP_SEND_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "net/client.h"
#include "pipeline/sender.h"

struct batch;

#define HTTP_SEND_HEADERS_MAX 72

struct http_request {
	struct client_call call;	/* method, URL and body are to be set; headers, done and arg are not */
	struct http_header headers[HTTP_SEND_HEADERS_MAX];
	u32 header_count;
	struct buf text;		/* for values of headers: they may point here */
	struct buf body;		/* for what the call's body may point to, if that is not the batch's own */
};

/* They are called in the sender's thread; self is the component. */
struct http_send_ops {
	/* -E2BIG, -EBADMSG: it cannot be encoded, and is dropped; other errors are tried again. */
	int (*make)(void *self, struct batch *batch, struct http_request *request);
	void (*outcome)(void *self, const struct client_answer *answer, struct send_result *ret_result);

	/* Optional: before make(), and after outcome(), whose result it may change. True: it has ended the attempt. */
	bool (*prepare)(void *self, struct send *send);
	bool (*settle)(void *self, struct send *send, const struct client_answer *answer, struct send_result *result);
};

/* The first member of a component, whose component_ops.sends is http_sends. */
struct http_send {
	const struct http_send_ops *ops;
	struct client *client;
};
extern const struct sender_ops http_sends;
extern const struct sender_ops http_sends_unjoined;	/* the queue does not join what was cut on purpose */

/* `why` gets a sentence. What options point to is borrowed. */
int http_send_init(struct http_send *http, const struct client_options *client, const struct http_send_ops *ops,
		   struct buf *why);
void http_send_done(struct http_send *http);

/*
 * What HTTP alone says of an answer, with retry_on(status) for those that are no success; true if that is all: nobody
 * answered, or it was taken. Else the caller has to add a reason.
 */
bool http_outcome(const struct client_answer *answer, bool (*retry_on)(int status), u64 now_unix_s,
		  struct send_result *ret_result);

/* Unless it has one of that name: what a user gives goes before what we would say. Past the maximum it is left out. */
void http_request_add_header(struct http_request *request, const char *name, const char *value);

#endif
