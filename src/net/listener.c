// SPDX-License-Identifier: Apache-2.0
#include "net/listener.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "net/address.h"
#include "net/exchange.h"
#include "net/passed.h"

#define ACCEPTS_MAX 64			/* in a row */
#define ACCEPT_PAUSE_NS (SECOND_NS / 10)	/* when there are no descriptors left */

/* ---- Connections ------------------------------------------------------------------------- */

/* The member whose numbers hold: the first that joined. */
static const struct listener *leading(const struct endpoint *endpoint)
{
	const struct listener *listener = endpoint->listeners;

	while (listener && listener->next)
		listener = listener->next;
	return listener;
}

void endpoint_limits(const struct endpoint *endpoint, struct connection_limits *ret_limits)
{
	const struct listener *listener = leading(endpoint);

	if (listener)
		*ret_limits = listener->limits;
}

/* Of those of the greediest caller: one that never got an answer before one that did, then the oldest. */
static struct connection *find_victim(struct server *server)
{
	const struct share *greediest = shares_greediest(&server->shares);
	struct connection *victim = NULL;

	for (struct endpoint *endpoint = server->endpoints; endpoint; endpoint = endpoint->next)
		for (struct connection *c = endpoint->connections; c; c = c->next)
			if (c->share == greediest && (!victim || !!c->answered < !!victim->answered ||
			    (!!c->answered == !!victim->answered && c->accepted_ns < victim->accepted_ns)))
				victim = c;
	return victim;
}

static bool make_room(struct server *server)
{
	struct connection *victim = find_victim(server);

	if (!victim)
		return false;
	connection_break(victim, COUNT_CLOSED_GREEDY);
	connection_settle(victim);
	return server->connection_count < server->connections_max;
}

static void add_connection(struct endpoint *endpoint, int fd, const struct caller *peer)
{
	const struct listener *listener = leading(endpoint);
	struct server *server = endpoint->server;
	struct connection *connection;
	SSL *ssl = NULL;

	assert(listener);	/* accept_ready() has looked */
	if (server->connection_count >= server->connections_max && !make_room(server)) {
		server_count(server, COUNT_CONNECTIONS_FULL);
		close(fd);
		return;
	}
	if (listener->tls)
		ssl = tls_accept(listener->tls);
	if ((listener->tls && !ssl) || connection_new(endpoint, fd, peer, ssl, &connection) < 0) {
		server_count(server, COUNT_ACCEPT_FAILED);
		SSL_free(ssl);
		close(fd);
		return;
	}
	server_count(server, COUNT_ACCEPTED);
	connection_settle(connection);
}

/* While the server is held, who connects waits in the kernel's queue. */
static void set_accepting(struct endpoint *endpoint, bool on)
{
	on &= !endpoint->server->held;
	for (int i = 0; i < ENDPOINT_SOCKETS; i++)
		if (endpoint->sockets[i].fd.fd >= 0)
			(void)loop_watch(endpoint->server->loop, &endpoint->sockets[i].fd, on ? EPOLLIN : 0);
}

static void set_timer(struct endpoint *endpoint)
{
	u64 at_ns = endpoint->accept_at_ns;

	if (endpoint->reload_at_ns && (!at_ns || endpoint->reload_at_ns < at_ns))
		at_ns = endpoint->reload_at_ns;
	loop_timer_set(endpoint->server->loop, &endpoint->timer, at_ns);
}

/* Out of descriptors or memory: whoever waits in the kernel's queue is not lost. */
static void pause_accepting(struct endpoint *endpoint)
{
	server_count(endpoint->server, COUNT_ACCEPT_FAILED);
	set_accepting(endpoint, false);
	endpoint->accept_at_ns = loop_now(endpoint->server->loop) + ACCEPT_PAUSE_NS;
	set_timer(endpoint);
}

static void accept_ready(struct loop_fd *fd, u32 events)
{
	struct endpoint *endpoint = ((struct accepting *)((char *)fd - offsetof(struct accepting, fd)))->endpoint;

	/* The last member has left since the kernel told of this, or it is held: it waits. */
	if (!endpoint->listeners || endpoint->server->held)
		return;
	for (int i = 0; i < ACCEPTS_MAX; i++) {
		struct sockaddr_storage address = { 0 };
		socklen_t bytes = sizeof(address);
		int client = accept4(fd->fd, (void *)&address, &bytes, SOCK_CLOEXEC | SOCK_NONBLOCK);
		struct caller peer;

		if (client < 0) {
			if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
				pause_accepting(endpoint);
			return;
		}
		caller_find(client, &address, bytes, &peer);
		add_connection(endpoint, client, &peer);
	}
}

/* ---- Endpoints ----------------------------------------------------------------------------- */

static u64 reload_interval_ns(const struct endpoint *endpoint)
{
	const struct listener *listener = leading(endpoint);

	return listener && listener->tls ? tls_reload_interval_ns(listener->tls) : 0;
}

static void reload_tls(struct endpoint *endpoint)
{
	struct server *server = endpoint->server;
	struct buf why;
	int r = 0;

	buf_init(&why, 1024);
	for (struct listener *listener = endpoint->listeners; listener; listener = listener->next) {
		if (!listener->tls)
			continue;
		r = tls_reload(listener->tls, &why);
		if (r)
			server_count(server, r > 0 ? COUNT_TLS_RELOADED : COUNT_TLS_RELOAD_FAILED);
		if (r < 0 && server->hooks.notice && why.data)
			server->hooks.notice(server->hooks.arg, why.data);
		buf_done(&why);
	}
}

static void endpoint_expired(struct loop_timer *timer, u64 now_ns)
{
	struct endpoint *endpoint = (struct endpoint *)((char *)timer - offsetof(struct endpoint, timer));

	if (endpoint->accept_at_ns && now_ns >= endpoint->accept_at_ns) {
		endpoint->accept_at_ns = 0;
		set_accepting(endpoint, true);
	}
	if (endpoint->reload_at_ns && now_ns >= endpoint->reload_at_ns) {
		reload_tls(endpoint);
		endpoint->reload_at_ns = now_ns + reload_interval_ns(endpoint);
	}
	set_timer(endpoint);
}

int endpoint_new(struct server *server, const char *name, struct endpoint **ret_endpoint)
{
	struct endpoint *endpoint = calloc(1, sizeof(*endpoint));
	int r;

	if (!endpoint)
		return -ENOMEM;
	endpoint->server = server;
	endpoint->timer.expired = endpoint_expired;
	for (int i = 0; i < ENDPOINT_SOCKETS; i++)
		endpoint->sockets[i] = (struct accepting){ { .fd = -1, .ready = accept_ready }, endpoint };
	endpoint->name = strdup(name);
	r = endpoint->name ? loop_timer_add(server->loop, &endpoint->timer) : -ENOMEM;
	if (r < 0) {
		free(endpoint->name);
		free(endpoint);
		return r;
	}
	endpoint->next = server->endpoints;
	server->endpoints = endpoint;
	*ret_endpoint = endpoint;
	return 0;
}

static void close_sockets(struct endpoint *endpoint)
{
	for (int i = 0; i < ENDPOINT_SOCKETS; i++) {
		struct loop_fd *fd = &endpoint->sockets[i].fd;

		if (fd->fd < 0)
			continue;
		loop_forget(endpoint->server->loop, fd);
		close(fd->fd);
		fd->fd = -1;
		if (endpoint->unix_socket && !passed_has_path(endpoint->server->passed, endpoint->name))
			(void)unlink(endpoint->name);
	}
	endpoint->accept_at_ns = endpoint->reload_at_ns = 0;
	set_timer(endpoint);
}

static void listener_free(struct listener *listener)
{
	if (!listener)
		return;
	tls_free(listener->tls);
	for (u32 i = 0; i < listener->host_count; i++)
		free(listener->hosts[i]);
	free(listener->hosts);
	free(listener);
}

void endpoint_free(struct endpoint *endpoint)
{
	struct endpoint **link = &endpoint->server->endpoints;

	endpoint->pins++;
	while (endpoint->connections)
		connection_free(endpoint->connections);
	close_sockets(endpoint);
	routes_drop(endpoint->server, endpoint->routes);
	while (endpoint->listeners) {
		struct listener *listener = endpoint->listeners;

		endpoint->listeners = listener->next;
		listener_free(listener);
	}
	while (*link != endpoint)
		link = &(*link)->next;
	*link = endpoint->next;
	loop_timer_remove(endpoint->server->loop, &endpoint->timer);
	free(endpoint->name);
	free(endpoint);
}

static void unpin(struct endpoint *endpoint)
{
	endpoint->pins--;
	endpoint_connection_gone(endpoint);
}

void endpoint_connection_gone(struct endpoint *endpoint)
{
	if (!endpoint->pins && !endpoint->listeners && !endpoint->connections && endpoint->sockets[0].fd.fd < 0)
		endpoint_free(endpoint);
}

/* ---- Joining --------------------------------------------------------------------------------- */

struct join {
	struct server *server;
	const struct listen_options *options;
	struct listener *listener;
	const int *fds;			/* of a new endpoint */
	int fd_count;
	struct buf *why;
	int result;
};

static bool names(const struct endpoint *endpoint, const struct listen_options *options)
{
	size_t len = strlen(options->endpoint);

	/* Whoever asks for any port asks for one of their own. */
	if (!options->unix_socket && len >= 2 && !strcmp(options->endpoint + len - 2, ":0"))
		return false;
	return endpoint->sockets[0].fd.fd >= 0 && endpoint->unix_socket == options->unix_socket &&
	       !strcmp(endpoint->name, options->endpoint);
}

static void link_listener(struct endpoint *endpoint, struct listener *listener)
{
	u64 interval_ns;

	listener->endpoint = endpoint;
	listener->next = endpoint->listeners;
	endpoint->listeners = listener;
	interval_ns = reload_interval_ns(endpoint);
	endpoint->reload_at_ns = interval_ns ? loop_now(endpoint->server->loop) + interval_ns : 0;
	set_timer(endpoint);
}

/* -ENOENT: nobody listens there yet. */
static void join_endpoint(void *arg)
{
	struct join *join = arg;
	struct endpoint *endpoint = join->server->endpoints;

	join->result = -ENOENT;
	while (endpoint && !names(endpoint, join->options))
		endpoint = endpoint->next;
	if (!endpoint)
		return;
	for (struct listener *other = endpoint->listeners; other; other = other->next)
		if (!tls_equal(other->tls, join->listener->tls)) {
			buf_addf(join->why, "%s is used twice with different tls settings; make them equal, or use "
				 "two ports", join->options->endpoint);
			join->result = -EINVAL;
			return;
		}
	link_listener(endpoint, join->listener);
	join->result = 0;
}

static void add_endpoint(void *arg)
{
	struct join *join = arg;
	struct sockaddr_storage address = { 0 };
	socklen_t bytes = sizeof(address);
	struct endpoint *endpoint;

	join->result = endpoint_new(join->server, join->options->endpoint, &endpoint);
	if (join->result < 0)
		return;
	endpoint->unix_socket = join->options->unix_socket;
	for (int i = 0; i < join->fd_count; i++)
		endpoint->sockets[i].fd.fd = join->fds[i];
	if (getsockname(join->fds[0], (void *)&address, &bytes) == 0)
		address_text(&address, bytes, endpoint->address, sizeof(endpoint->address));
	link_listener(endpoint, join->listener);
}

static int bind_endpoint(struct join *join)
{
	int fds[ADDRESS_SOCKETS_MAX];
	int count = address_listen(join->options->endpoint, join->options->unix_socket, join->server->passed, fds,
				   join->why);

	if (count < 0)
		return count;
	join->fds = fds;
	join->fd_count = count;
	loop_call(join->server->loop, add_endpoint, join);
	for (int i = 0; i < count && join->result < 0; i++)
		close(fds[i]);
	return join->result;
}

static u64 or_default(s64 value_ns, u64 default_ns)
{
	return value_ns > 0 ? (u64)value_ns : default_ns;
}

static void set_limits(const struct listen_options *options, struct connection_limits *limits)
{
	*limits = (struct connection_limits){
		.idle_ns = or_default(options->idle_timeout_ns, IDLE_TIMEOUT_NS),
		.http2_idle = options->idle_timeout_ns > 0,
		.body_ns = BODY_TIMEOUT_NS,
		.head_ns = or_default(options->head_timeout_ns, HEAD_TIMEOUT_NS),
		.write_ns = or_default(options->write_timeout_ns, WRITE_TIMEOUT_NS),
		.close_after_request = options->close_after_request,
		.request_ns = or_default(options->request_timeout_ns, REQUEST_TIMEOUT_NS),
		.streams_max = options->streams_max ? options->streams_max : STREAMS_MAX,
		.age_ns = or_default(options->connection_age_max_ns, 0),
		.age_grace_ns = or_default(options->connection_age_grace_ns, 0),
		.ping_interval_ns = or_default(options->ping_interval_ns, PING_INTERVAL_NS),
		.ping_timeout_ns = or_default(options->ping_timeout_ns, PING_TIMEOUT_NS),
		.ping_min_ns = or_default(options->ping_min_interval_ns, 0),
		.idle_pings = options->idle_pings,
	};
}

static int copy_hosts(const struct config_texts *hosts, struct listener *listener)
{
	listener->hosts = calloc(hosts->count + 1, sizeof(*listener->hosts));
	for (u32 i = 0; listener->hosts && i < hosts->count; i++) {
		listener->hosts[i] = strdup(hosts->at[i]);
		if (!listener->hosts[i])
			return -ENOMEM;
		listener->host_count++;
	}
	return listener->hosts ? 0 : -ENOMEM;
}

int server_listen(struct server *server, const struct listen_options *options, struct listener **ret_listener,
		  struct buf *why)
{
	struct listener *listener = calloc(1, sizeof(*listener));
	struct join join = { .server = server, .options = options, .listener = listener, .why = why };
	int r;

	if (!listener)
		return -ENOMEM;
	set_limits(options, &listener->limits);
	r = copy_hosts(&options->hosts, listener);
	if (r == 0 && options->tls)
		r = tls_new(options->tls, &listener->tls, why);
	if (r == 0) {
		loop_call(server->loop, join_endpoint, &join);
		r = join.result == -ENOENT ? bind_endpoint(&join) : join.result;
	}
	if (r < 0) {
		listener_free(listener);
		return r;
	}
	*ret_listener = listener;
	return 0;
}

const char *listener_address(const struct listener *listener)
{
	return listener->endpoint->address;
}

/* ---- Routes ----------------------------------------------------------------------------------- */

struct add_route {
	struct listener *listener;
	const struct route *route;
	int result;
};

static void add_route(void *arg)
{
	struct add_route *add = arg;
	struct endpoint *endpoint = add->listener->endpoint;

	add->result = routes_add(&endpoint->routes, add->listener, add->route);
	if (add->result == 0)
		endpoint->left = false;
	if (add->result == 0 && !endpoint->accept_at_ns)
		set_accepting(endpoint, true);
}

int listener_route(struct listener *listener, const struct route *route)
{
	struct add_route add = { listener, route, 0 };

	loop_call(listener->endpoint->server->loop, add_route, &add);
	return add.result;
}

struct leave {
	struct server *server;
	struct listener *listener;
	const void *arg;
	struct route_entry *taken;
	bool gone;			/* the listener has no route left, and is no member any more */
};

static void unlink_listener(struct listener *listener)
{
	struct listener **link = &listener->endpoint->listeners;

	while (*link != listener)
		link = &(*link)->next;
	*link = listener->next;
}

/* Nobody is a member any more: no new connections, and those that are there end when they are answered. */
static void close_endpoint(struct endpoint *endpoint)
{
	struct connection *connection, *next;

	close_sockets(endpoint);
	endpoint->pins++;
	for (connection = endpoint->connections; connection; connection = next) {
		next = connection->next;
		connection_drain(connection);
	}
	unpin(endpoint);
}

static void take_routes(void *arg)
{
	struct leave *leave = arg;
	struct endpoint *endpoint = leave->listener->endpoint;

	routes_take(&endpoint->routes, leave->listener, leave->arg, &leave->taken);
	endpoint->left |= leave->taken != NULL;
	for (struct route_entry *entry = endpoint->routes; entry; entry = entry->next)
		if (entry->listener == leave->listener)
			return;
	leave->gone = true;
	unlink_listener(leave->listener);
	if (endpoint->listeners)
		return;
	if (!endpoint->server->held)
		close_endpoint(endpoint);
}

/* It may be gone afterwards. */
static void settle_all(struct endpoint *endpoint)
{
	struct connection *connection, *next;

	endpoint->pins++;
	for (connection = endpoint->connections; connection; connection = next) {
		next = connection->next;
		connection_settle(connection);
	}
	unpin(endpoint);
}

static void hold(void *arg)
{
	struct server *server = arg;
	struct endpoint *endpoint, *next;

	server->held = true;
	for (endpoint = server->endpoints; endpoint; endpoint = next) {
		next = endpoint->next;
		set_accepting(endpoint, false);
		settle_all(endpoint);
	}
}

static void release(void *arg)
{
	struct server *server = arg;
	struct endpoint *endpoint, *next;

	server->held = false;
	for (endpoint = server->endpoints; endpoint; endpoint = next) {
		next = endpoint->next;
		endpoint->left = !endpoint->listeners;
		if (endpoint->routes && !endpoint->accept_at_ns)
			set_accepting(endpoint, true);
		if (endpoint->listeners)
			settle_all(endpoint);
		else
			close_endpoint(endpoint);
	}
}

void server_hold(struct server *server, bool on)
{
	loop_call(server->loop, on ? hold : release, server);
}

static void abort_of(struct endpoint *endpoint, const struct route_entry *taken)
{
	struct connection *connection, *next;

	for (const struct route_entry *entry = taken; entry; entry = entry->next)
		for (connection = endpoint->connections; connection; connection = next) {
			next = connection->next;
			connection_abort(connection, entry);
		}
}

/* The endpoint may have lost its last member and be gone: so all that there are are searched. */
static void abort_exchanges(void *arg)
{
	struct leave *leave = arg;
	struct endpoint *endpoint = leave->server->endpoints, *next;

	for (; endpoint; endpoint = next) {
		next = endpoint->next;
		endpoint->pins++;
		abort_of(endpoint, leave->taken);
		unpin(endpoint);
	}
}

void listener_leave(struct listener *listener, const void *arg, u64 deadline_ns)
{
	struct server *server = listener->endpoint->server;
	struct leave leave = { .server = server, .listener = listener, .arg = arg };

	loop_call(server->loop, take_routes, &leave);
	if (routes_wait_open(server, leave.taken, deadline_ns) < 0)
		loop_call(server->loop, abort_exchanges, &leave);
	routes_close(server, leave.taken);
	routes_drop(server, leave.taken);
	if (leave.gone)
		listener_free(listener);
}
