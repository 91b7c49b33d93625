/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An exchange: one request and its reply. The public half is in net/server.h.
 *
 *	loop: head read, routed, body read -> work: handler -> holder: reply -> loop: sent, freed
 *
 * It belongs to one thread at a time: to the loop until exchange_dispatch(), then to whoever holds it, and after the
 * reply to the loop again. `connection`, `stream_id` and the list belong to the loop all the time: a connection that
 * goes away lets go of its exchanges while they are held.
 */
#ifndef NET_EXCHANGE_H
#define NET_EXCHANGE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "net/core.h"
#include "net/caller.h"
#include "net/server.h"

struct connection;
struct route_entry;

#define GRPC_PREFIX_BYTES 5

enum grpc_code {
	GRPC_OK = 0, GRPC_DEADLINE_EXCEEDED = 4, GRPC_PERMISSION_DENIED = 7, GRPC_RESOURCE_EXHAUSTED = 8,
	GRPC_UNIMPLEMENTED = 12, GRPC_INTERNAL = 13, GRPC_UNAVAILABLE = 14,
};

struct header {
	u32 name, value;		/* offsets in head, from 1 */
};

/* Names and values follow one another in fields, each ended by a NUL; trailers last. */
struct reply {
	int status;
	struct buf fields;
	u32 header_count, trailer_count;
	struct buf body;
	size_t sent;			/* of body: HTTP/2 */
};

struct exchange {
	struct server *server;
	struct route_entry *route;	/* counted; NULL: none */
	struct loop_post post;
	struct work_item work;
	/* The request. */
	struct buf head;
	struct header *headers;
	u32 header_count, header_cap;
	u32 method, path, query;	/* offsets in head, from 1; 0: did not come */
	struct caller peer;
	struct share *share;		/* of the caller */
	bool http2, grpc;		/* grpc: by its content type */
	u8 prefix[GRPC_PREFIX_BYTES];	/* of gRPC: what stands before the message */
	u8 prefix_len;
	bool surplus;			/* of gRPC: bytes came after the message */
	struct buf body;
	struct reply reply;
	/* The loop's. */
	struct connection *connection;	/* NULL: it is gone, or was answered in our place */
	struct exchange *next, **link;	/* of the connection */
	s32 stream_id;
	u64 began_ns;
	size_t held_bytes;		/* counted in server->body_bytes */
	size_t unasked_bytes;		/* HTTP/2: taken, but the peer was not asked for as much again */
	size_t discarded_bytes;		/* HTTP/2: what came after it was refused */
	bool dispatched, replied, refused;
	bool shed;			/* its body is not kept; the answer waits for `late` */
	struct loop_timer late;
	atomic_bool peer_left;		/* set by the loop, for who holds it */
	atomic_bool is_detached;	/* there is no connection any more that a reply could go to */
	bool early;			/* counted in server->early_count */
	u64 moved_ns;			/* when the last byte of its body, or of the reply's, came or went */
};

/* NULL: out of memory, or too many are open (then counted). */
struct exchange *exchange_new(struct connection *connection);

/* Frees it, unless somebody holds it: then when the reply comes. */
void exchange_detach(struct exchange *exchange);

/* ---- The request, in the loop ---------------------------------------------------- */

/* -E2BIG past HEAD_BYTES_MAX or HEADERS_MAX; -ENOMEM. Names come in lower case. */
int exchange_set_method(struct exchange *exchange, const char *method, size_t len);
int exchange_set_target(struct exchange *exchange, const char *target, size_t len);
int exchange_add_header(struct exchange *exchange, const char *name, size_t name_len, const char *value,
			size_t value_len);

/*
 * Finds the route when all headers are there. content_length is -1 if not told. -ECANCELED: it was refused, the reply
 * says why; the body is not wanted.
 */
int exchange_route(struct exchange *exchange, s64 content_length);

/* Appends to the body. -ECANCELED: refused. */
int exchange_append(struct exchange *exchange, const void *at, size_t bytes);

/* Whether it is one of those that are read to their end; the others wait when bodies take too much. */
void exchange_set_early(struct exchange *exchange, bool early);
bool exchange_must_wait(const struct exchange *exchange);

/* Until when more of its body must come. */
u64 exchange_end_ns(const struct exchange *exchange);

/* The body is whole. */
void exchange_dispatch(struct exchange *exchange);

/* Its body is gone. */
void exchange_release_bytes(struct exchange *exchange);

/* ---- Replies, in the loop ---------------------------------------------------------- */

/* Makes the reply of an exchange that nobody holds; of gRPC with the code that stands for the status. */
void exchange_refuse(struct exchange *exchange, enum server_count count, int status, const char *text);

/*
 * Answers with 503 in the place of whoever holds it, whose reply will be for
 * nobody. The stream's new exchange, or NULL: out of memory, end the stream.
 */
struct exchange *exchange_stand_in(struct exchange *exchange);

/* From the holder's thread: the reply is made. */
void exchange_post_reply(struct exchange *exchange);

const char *http_reason(int status);

/* The next name and value of a reply's fields, from *at = 0. */
void reply_field(const struct reply *reply, size_t *at, const char **ret_name, const char **ret_value);

/* application/grpc, also with a subtype or parameters. */
bool content_type_is_grpc(const char *content_type);

#endif
