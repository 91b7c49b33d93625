// SPDX-License-Identifier: Apache-2.0
#include "net/exchange.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/sender_time.h"
#include "net/connection.h"
#include "net/hosts.h"
#include "net/listener.h"
#include "net/routes.h"

/* ---- Life ------------------------------------------------------------------------- */

static void reply_done(struct reply *reply)
{
	buf_done(&reply->fields);
	buf_done(&reply->body);
}

void exchange_release_bytes(struct exchange *exchange)
{
	exchange->share->body_bytes -= exchange->held_bytes;
	server_release_bytes(exchange->server, exchange->held_bytes);
	exchange->held_bytes = 0;
}

static void exchange_free(struct exchange *exchange)
{
	struct server *server = exchange->server;

	exchange_set_early(exchange, false);
	loop_timer_remove(server->loop, &exchange->late);
	if (exchange->route)
		route_unref(server, exchange->route);
	exchange_release_bytes(exchange);
	exchange->share->exchanges--;
	metric_set(server->exchange_gauge, --server->exchange_count);
	buf_done(&exchange->head);
	buf_done(&exchange->body);
	reply_done(&exchange->reply);
	free(exchange->headers);
	free(exchange);
}

static void attach(struct exchange *exchange, struct connection *connection)
{
	exchange->connection = connection;
	exchange->next = connection->exchanges;
	exchange->link = &connection->exchanges;
	if (exchange->next)
		exchange->next->link = &exchange->next;
	connection->exchanges = exchange;
	connection->exchange_count++;
}

static void unlink_exchange(struct exchange *exchange)
{
	*exchange->link = exchange->next;
	if (exchange->next)
		exchange->next->link = exchange->link;
	exchange->connection->exchange_count--;
	exchange->connection = NULL;
}

#define REFUSALS_MAX 256		/* of a caller that has his share, and is told so */

/* Even when too many are open an exchange is made, to say so with; but not many of those. */
static struct exchange *exchange_alloc(struct connection *connection)
{
	struct server *server = connection->server;
	struct exchange *exchange = calloc(1, sizeof(*exchange));

	if (!exchange)
		return NULL;
	exchange->server = server;
	exchange->began_ns = exchange->moved_ns = loop_now(server->loop);
	buf_init(&exchange->head, HEAD_BYTES_MAX + 3);
	buf_init(&exchange->body, 0);
	buf_init(&exchange->reply.fields, 2 * HEAD_BYTES_MAX);
	buf_init(&exchange->reply.body, 0);
	exchange->peer = connection->peer;
	exchange->share = connection->share;
	exchange->share->exchanges++;
	metric_set(server->exchange_gauge, ++server->exchange_count);
	attach(exchange, connection);
	return exchange;
}

struct exchange *exchange_new(struct connection *connection)
{
	/* A peer that takes no answers takes no refusals either. */
	if (connection->server->exchange_count >= 2 * EXCHANGES_MAX ||
	    connection->share->exchanges >= EXCHANGES_MAX / 2 + REFUSALS_MAX) {
		server_count(connection->server, COUNT_EXCHANGES_FULL);
		return NULL;
	}
	return exchange_alloc(connection);
}

/* The route is left when the reply came, even if nobody is there to get it; until then its handler's arg is in use. */
static void leave_route(struct exchange *exchange)
{
	exchange->replied = true;
	if (exchange->route)
		route_leave(exchange->server, exchange->route);
}

/* The holder's reply is here. */
static void take_reply(struct loop_post *post)
{
	struct exchange *exchange = (struct exchange *)((char *)post - offsetof(struct exchange, post));

	leave_route(exchange);
	if (exchange->connection)
		connection_reply(exchange);
	else
		exchange_free(exchange);
}

void exchange_post_reply(struct exchange *exchange)
{
	exchange->post.run = take_reply;
	loop_post(exchange->server->loop, &exchange->post);
}

void exchange_detach(struct exchange *exchange)
{
	unlink_exchange(exchange);
	if (exchange->dispatched && !exchange->replied && !exchange->shed) {
		atomic_store(&exchange->peer_left, true);
		atomic_store(&exchange->is_detached, true);
		return;
	}
	if (!exchange->replied)
		leave_route(exchange);
	exchange_free(exchange);
}

/* ---- The request ------------------------------------------------------------------ */

/* Its offset in the head, from 1; 0: no room. */
static u32 add_text(struct exchange *exchange, const char *text, size_t len)
{
	size_t at = exchange->head.len;

	buf_add(&exchange->head, text, len);
	buf_add(&exchange->head, "", 1);
	return buf_err(&exchange->head) ? 0 : (u32)at + 1;
}

static const char *text_at(const struct exchange *exchange, u32 offset)
{
	return offset ? exchange->head.data + offset - 1 : "";
}

int exchange_set_method(struct exchange *exchange, const char *method, size_t len)
{
	exchange->method = add_text(exchange, method, len);
	return buf_err(&exchange->head);
}

int exchange_set_target(struct exchange *exchange, const char *target, size_t len)
{
	const char *query = memchr(target, '?', len);
	size_t path_len = query ? (size_t)(query - target) : len;

	exchange->path = add_text(exchange, target, path_len);
	exchange->query = query ? add_text(exchange, query + 1, len - path_len - 1) : add_text(exchange, "", 0);
	return buf_err(&exchange->head);
}

int exchange_add_header(struct exchange *exchange, const char *name, size_t name_len, const char *value,
			size_t value_len)
{
	struct header *header;
	int r;

	if (exchange->header_count == HEADERS_MAX)
		return -E2BIG;
	r = array_reserve(&exchange->headers, &exchange->header_cap, exchange->header_count + 1, sizeof(*header));
	if (r < 0)
		return r;
	header = &exchange->headers[exchange->header_count];
	header->name = add_text(exchange, name, name_len);
	header->value = add_text(exchange, value, value_len);
	if (buf_err(&exchange->head) == 0)
		exchange->header_count++;
	return buf_err(&exchange->head);
}

const char *exchange_method(const struct exchange *exchange)
{
	return text_at(exchange, exchange->method);
}

const char *exchange_path(const struct exchange *exchange)
{
	return text_at(exchange, exchange->path);
}

const char *exchange_query(const struct exchange *exchange)
{
	return text_at(exchange, exchange->query);
}

bool exchange_peer_left(const struct exchange *exchange)
{
	return atomic_load(&exchange->peer_left);
}

const char *exchange_peer(const struct exchange *exchange)
{
	return exchange->peer.text;
}

bool exchange_peer_user(const struct exchange *exchange, uid_t *ret_uid)
{
	if (exchange->peer.has_uid)
		*ret_uid = exchange->peer.uid;
	return exchange->peer.has_uid;
}

u64 exchange_peer_key(const struct exchange *exchange)
{
	return exchange->peer.key ? exchange->peer.key : 1;
}

static const char *header_name(const struct exchange *exchange, u32 i)
{
	return text_at(exchange, exchange->headers[i].name);
}

const char *exchange_header(const struct exchange *exchange, const char *name)
{
	for (u32 i = 0; i < exchange->header_count; i++)
		if (!strcmp(header_name(exchange, i), name))
			return text_at(exchange, exchange->headers[i].value);
	return NULL;
}

u32 exchange_header_count(const struct exchange *exchange, const char *name)
{
	u32 count = 0;

	for (u32 i = 0; i < exchange->header_count; i++)
		count += !strcmp(header_name(exchange, i), name);
	return count;
}

struct buf *exchange_body(struct exchange *exchange)
{
	return &exchange->body;
}

/* ---- Routing ----------------------------------------------------------------------- */

bool content_type_is_grpc(const char *content_type)
{
	static const char grpc[] = "application/grpc";
	size_t len = sizeof(grpc) - 1;

	return content_type && !strncasecmp(content_type, grpc, len) &&
	       (!content_type[len] || strchr("+; ", content_type[len]));
}

/* grpc-go's words, which people search for. */
static int refuse_path(struct exchange *exchange)
{
	const char *path = exchange_path(exchange), *method = strrchr(path, '/');
	char text[512];

	if (exchange->grpc && method && method > path)
		snprintf(text, sizeof(text), "unknown method %s for service %.*s", method + 1,
			 (int)(method - path - 1), path + 1);
	else
		snprintf(text, sizeof(text), "nothing is served at %s", path);
	exchange_refuse(exchange, COUNT_NOT_FOUND, 404, text);
	return -ECANCELED;
}

static int refuse_method(struct exchange *exchange, const char *allow)
{
	char text[512];

	snprintf(text, sizeof(text), "%s takes %s, not %s", exchange_path(exchange), allow,
		 exchange_method(exchange));
	exchange_refuse(exchange, COUNT_BAD_METHOD, 405, text);
	if (!exchange->grpc) {
		buf_add(&exchange->reply.fields, "allow", 6);
		buf_add(&exchange->reply.fields, allow, strlen(allow) + 1);
		exchange->reply.header_count++;
	}
	return -ECANCELED;
}

static int find_route(struct exchange *exchange, struct route_entry **ret_entry)
{
	struct buf allow;
	int r;

	buf_init(&allow, 256);
	r = routes_find(exchange->connection->endpoint->routes, exchange_method(exchange), exchange_path(exchange),
			ret_entry, &allow);
	/* A sender must not take the end of a receiver for "there is no such thing", and drop what it has. */
	if (r == -ENOENT && (exchange->server->held || exchange->connection->endpoint->left))
		exchange_refuse(exchange, COUNT_CLOSING, 503, "the server is being reconfigured, try again later");
	else if (r == -ENOENT)
		refuse_path(exchange);
	else if (r < 0)
		refuse_method(exchange, allow.data ? allow.data : "other methods");
	buf_done(&allow);
	return r < 0 ? -ECANCELED : 0;
}

static int check_type(struct exchange *exchange, const struct route *route)
{
	if (route->grpc && !exchange->http2) {
		exchange_refuse(exchange, COUNT_BAD_TYPE, 505, "gRPC needs HTTP/2: this path takes no HTTP/1.1");
		return -ECANCELED;
	}
	if (route->grpc && !exchange->grpc) {
		exchange_refuse(exchange, COUNT_BAD_TYPE, 415, "this path takes application/grpc only");
		return -ECANCELED;
	}
	return 0;
}

/* Any member of the endpoint may bring names; "*" is all. */
static bool is_allowed(const struct endpoint *endpoint, const char *name)
{
	char own[HOSTS_NAME_MAX];

	if (hosts_is_own(name, endpoint->server->machine) ||
	    (hosts_name(endpoint->name, own) && *own && !strcasecmp(name, own)))
		return true;
	for (const struct listener *listener = endpoint->listeners; listener; listener = listener->next)
		for (u32 i = 0; i < listener->host_count; i++)
			if (!strcmp(listener->hosts[i], "*") || !strcasecmp(listener->hosts[i], name))
				return true;
	return hosts_file_has("/etc/hosts", name);
}

/* From other machines people ask by names that nobody here knows; by loopback only those of this machine make sense. */
static int check_host(struct exchange *exchange)
{
	const struct connection *connection = exchange->connection;
	const char *host = exchange_header(exchange, "host");
	char name[HOSTS_NAME_MAX];

	if (!connection->peer.is_local || connection->endpoint->unix_socket || !host)
		return 0;
	if (exchange_header_count(exchange, "host") == 1 && hosts_name(host, name) &&
	    is_allowed(connection->endpoint, name))
		return 0;
	exchange_refuse(exchange, COUNT_BAD_HOST, 403,
			"this name is not known here; ask by address or localhost, or add the name to allowed_hosts");
	return -ECANCELED;
}

static int refuse_large(struct exchange *exchange, size_t max)
{
	char text[128];

	snprintf(text, sizeof(text), "the request is larger than the %zu bytes that are allowed here", max);
	exchange_refuse(exchange, COUNT_BODY_TOO_LARGE, 413, text);
	return -ECANCELED;
}

static void refuse_sender(struct exchange *exchange)
{
	exchange_refuse(exchange, COUNT_SENDER_TIME, 503, "those who send have used their share of the CPU time that "
			"wick may use, and you have sent much of it; try again later, or raise --max-cpu there");
}

static int refuse_full(struct exchange *exchange, enum server_count count)
{
	exchange_refuse(exchange, count, 503, "the server has too much to do, try again later");
	return -ECANCELED;
}

/* Memory for a body whose length was told, at once: what does not come is never touched. */
static int reserve_body(struct exchange *exchange, u64 bytes)
{
	struct buf *body = &exchange->body;
	u64 max = exchange->route->route.body_max;

	if (bytes > max)
		return refuse_large(exchange, max);
	if (bytes <= body->cap)
		return 0;
	body->data = realloc(body->data, bytes);
	body->cap = body->data ? bytes : 0;
	return body->data ? 0 : refuse_full(exchange, COUNT_BODIES_FULL);
}

/* What the loop has done since the last request counts as this one's: to read it, and to answer others. */
static void note_loop(struct exchange *exchange, const struct route *route)
{
	u64 used_ns = sender_time_of_thread(), before_ns = exchange->server->loop_used_ns;

	exchange->server->loop_used_ns = used_ns;
	if (route->yields && before_ns && used_ns > before_ns)
		sender_time_note(exchange_peer_key(exchange), used_ns - before_ns, loop_now(exchange->server->loop));
}

static bool must_yield(const struct exchange *exchange, const struct route *route)
{
	return route->yields && !sender_time_allows(exchange_peer_key(exchange), loop_now(exchange->server->loop));
}

int exchange_route(struct exchange *exchange, s64 content_length)
{
	struct server *server = exchange->server;
	struct route_entry *entry;
	int r;

	server_count(server, exchange->http2 ? COUNT_HTTP2 : COUNT_HTTP1);
	exchange->grpc = content_type_is_grpc(exchange_header(exchange, "content-type"));
	r = find_route(exchange, &entry);
	if (r < 0)
		return r;
	note_loop(exchange, &entry->route);
	r = check_host(exchange);
	if (r == 0)
		r = check_type(exchange, &entry->route);
	if (r < 0)
		return r;
	if (server->exchange_count > EXCHANGES_MAX)
		return refuse_full(exchange, COUNT_EXCHANGES_FULL);
	if (exchange->share->exchanges > EXCHANGES_MAX / 2)
		return refuse_full(exchange, COUNT_SHARE_FULL);
	exchange->shed = must_yield(exchange, &entry->route);
	if (exchange->shed)
		return 0;
	if (server->body_bytes >= server->bodies_hard_max)
		return refuse_full(exchange, COUNT_BODIES_FULL);
	route_enter(server, entry);
	exchange->route = entry;
	/* Whoever holds little does not wait for those who hold much. */
	exchange_set_early(exchange, server->body_bytes <= server->bodies_soft_max || !server->early_count ||
			   exchange->share->body_bytes < server->bodies_soft_max / 16);
	exchange->body.max = entry->route.body_max;
	return content_length > 0 && !exchange->grpc ? reserve_body(exchange, (u64)content_length) : 0;
}

/* ---- The body ------------------------------------------------------------------------ */

static u32 message_bytes(const struct exchange *exchange)
{
	const u8 *at = exchange->prefix + 1;

	return (u32)at[0] << 24 | (u32)at[1] << 16 | (u32)at[2] << 8 | at[3];
}

/* The prefix of a gRPC message is kept apart, so that the message needs not be moved later. */
static int take_prefix(struct exchange *exchange, const char **at, size_t *bytes)
{
	while (exchange->prefix_len < GRPC_PREFIX_BYTES && *bytes) {
		exchange->prefix[exchange->prefix_len++] = (u8)*(*at)++;
		--*bytes;
		if (exchange->prefix_len == GRPC_PREFIX_BYTES)
			return reserve_body(exchange, message_bytes(exchange));
	}
	return 0;
}

/* Past what is read of a refused request it is answered at once, and ends. */
static int skip_bytes(struct exchange *exchange, size_t bytes)
{
	exchange->discarded_bytes += bytes;
	exchange->moved_ns = loop_now(exchange->server->loop);
	if (exchange->discarded_bytes <= DISCARD_MAX)
		return 0;
	refuse_sender(exchange);
	return -ECANCELED;
}

int exchange_append(struct exchange *exchange, const void *data, size_t bytes)
{
	const char *at = data;
	int r;

	if (exchange->refused)
		return -ECANCELED;
	if (exchange->shed)
		return skip_bytes(exchange, bytes);
	if (exchange->grpc) {
		r = take_prefix(exchange, &at, &bytes);
		if (r < 0)
			return r;
		if (exchange->prefix_len == GRPC_PREFIX_BYTES &&
		    bytes > message_bytes(exchange) - exchange->body.len) {
			exchange->surplus = true;
			bytes = message_bytes(exchange) - exchange->body.len;
		}
	}
	if (exchange->share->body_bytes + bytes > exchange->server->bodies_hard_max / 2)
		return refuse_full(exchange, COUNT_SHARE_FULL);
	if (exchange->server->body_bytes + bytes > exchange->server->bodies_hard_max ||
	    server_hold_bytes(exchange->server, bytes) < 0)
		return refuse_full(exchange, COUNT_BODIES_FULL);
	exchange->held_bytes += bytes;
	exchange->share->body_bytes += bytes;
	buf_add(&exchange->body, at, bytes);
	if (buf_err(&exchange->body) == -E2BIG)
		return refuse_large(exchange, exchange->body.max);
	if (buf_err(&exchange->body) < 0)
		return refuse_full(exchange, COUNT_BODIES_FULL);
	exchange->moved_ns = loop_now(exchange->server->loop);
	return 0;
}

void exchange_set_early(struct exchange *exchange, bool early)
{
	struct server *server = exchange->server;

	if (exchange->early == early)
		return;
	exchange->early = early;
	server->early_count += early ? 1 : -1;
	if (!server->early_count)
		server_ask_again(server);
}

bool exchange_must_wait(const struct exchange *exchange)
{
	return !exchange->early && !exchange->shed && exchange->server->body_bytes > exchange->server->bodies_soft_max;
}

u64 exchange_end_ns(const struct exchange *exchange)
{
	const struct connection_limits *limits = &exchange->connection->limits;
	u64 end_ns = exchange->began_ns + limits->request_ns, silent_ns = exchange->moved_ns + limits->body_ns;

	return silent_ns < end_ns ? silent_ns : end_ns;
}

static void run_handler(struct work_item *item)
{
	struct exchange *exchange = (struct exchange *)((char *)item - offsetof(struct exchange, work));
	u64 began_ns = exchange->route->route.yields ? sender_time_of_thread() : 0;
	u64 sender = exchange_peer_key(exchange);	/* it may be gone afterwards */

	/* Whoever resets requests by the thousand has them thrown away unread. */
	if (atomic_load(&exchange->is_detached) ||
	    !route_handle(exchange->server, exchange->route, exchange))
		exchange_reply(exchange, 503, NULL, NULL, 0, NULL);
	sender_time_note_since(sender, began_ns);
}

/* ---- Who is to come later ------------------------------------------------------------------ */

static void answer_late(struct loop_timer *timer, u64 now_ns)
{
	struct exchange *exchange = (struct exchange *)((char *)timer - offsetof(struct exchange, late));

	refuse_sender(exchange);
	exchange->replied = true;
	connection_reply(exchange);
}

/* One after the other. Without memory for a timer it is as if somebody had held it, and had replied. */
static void hold_back(struct exchange *exchange)
{
	struct server *server = exchange->server;
	u64 now_ns = loop_now(server->loop), at_ns = server->last_late_ns + LATE_EACH_NS;

	if (at_ns < now_ns + LATE_MIN_NS)
		at_ns = now_ns + LATE_MIN_NS;
	if (at_ns > now_ns + LATE_MAX_NS)
		at_ns = now_ns + LATE_MAX_NS;
	exchange->late.expired = answer_late;
	if (loop_timer_add(server->loop, &exchange->late) < 0) {
		exchange->shed = false;
		refuse_sender(exchange);
		exchange_post_reply(exchange);
		return;
	}
	server->last_late_ns = at_ns;
	loop_timer_set(server->loop, &exchange->late, at_ns);
}

void exchange_dispatch(struct exchange *exchange)
{
	assert(!exchange->dispatched && !exchange->refused);
	exchange->dispatched = true;
	exchange_set_early(exchange, false);
	if (exchange->shed) {
		hold_back(exchange);
		return;
	}
	exchange->work.run = run_handler;
	exchange->work.lane = exchange->route->route.is_question ? WORK_ASKED : WORK_SENT;
	exchange->work.caller = exchange->peer.key;
	exchange->work.connection = (u64)(uintptr_t)exchange->connection;
	work_add(exchange->server->work, &exchange->work);
}
