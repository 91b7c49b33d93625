// SPDX-License-Identifier: Apache-2.0
#include "net/server.h"

#include <errno.h>
#include <sys/resource.h>
#include <time.h>

#include "base/clock.h"
#include "base/deadline.h"
#include "net/core.h"
#include "net/listener.h"

#define FLUSH_NS SECOND_NS		/* for answers that are on their way when the server ends */

/* ---- Bodies ------------------------------------------------------------------------------ */

int server_hold_bytes(struct server *server, size_t bytes)
{
	int r = budget_charge_to(&server->charge, server->body_bytes + bytes);

	if (r < 0)
		return r;
	server->body_bytes += bytes;
	metric_set(server->body_bytes_gauge, (s64)server->body_bytes);
	return 0;
}

static void ask_again(struct loop_post *post)
{
	struct server *server = (struct server *)((char *)post - offsetof(struct server, ask));

	server->ask_posted = false;
	while (server->stalled && (server->body_bytes <= server->bodies_soft_max || !server->early_count))
		connection_unstall(server->stalled);
}

/* Not at once: a connection may be in the midst of things. */
void server_ask_again(struct server *server)
{
	if (!server->stalled || server->ask_posted)
		return;
	server->ask_posted = true;
	server->ask.run = ask_again;
	loop_post(server->loop, &server->ask);
}

void server_release_bytes(struct server *server, size_t bytes)
{
	server->body_bytes -= bytes;
	(void)budget_charge_to(&server->charge, server->body_bytes);
	metric_set(server->body_bytes_gauge, (s64)server->body_bytes);
	if (server->body_bytes <= server->bodies_soft_max)
		server_ask_again(server);
}

/* ---- Life --------------------------------------------------------------------------------- */

static void find_counters(struct server *server, struct metrics *metrics)
{
	static const struct { const char *name, *key, *value, *help; } counters[] = {
#define X(id, name, key, value, help) [COUNT_##id] = { name, key, value, help },
		SERVER_COUNTS(X)
#undef X
	};
	const char *help = NULL;

	for (int i = 0; i < SERVER_COUNT_COUNT; i++) {
		struct metric_label label = { counters[i].key, counters[i].value };

		help = counters[i].help ? counters[i].help : help;
		server->counts[i] = metrics_get(metrics, METRIC_COUNTER, counters[i].name, help, &label, 1);
	}
	server->connection_gauge = metrics_get(metrics, METRIC_GAUGE, "wick_server_connections",
					       "Connections that are open", NULL, 0);
	server->exchange_gauge = metrics_get(metrics, METRIC_GAUGE, "wick_server_requests_open",
					     "Requests that are not answered yet", NULL, 0);
	server->body_bytes_gauge = metrics_get(metrics, METRIC_GAUGE, "wick_server_body_bytes",
					       "Bytes of request bodies that are held", NULL, 0);
}

/* Half of the descriptors that there may be: others need some too. */
static u32 connections_max(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur / 2 > CONNECTIONS_MAX)
		return CONNECTIONS_MAX;
	return (u32)limit.rlim_cur / 2;
}

static size_t least(u64 a, u64 b)
{
	return (size_t)(a < b ? a : b);
}

int server_make(struct metrics *metrics, bool threads, struct server **ret_server)
{
	_cleanup_(server_freep) struct server *server = calloc(1, sizeof(*server));
	int r;

	if (!server)
		return -ENOMEM;
	(void)gethostname(server->machine, sizeof(server->machine) - 1);
	shares_init(&server->shares);
	server->connections_max = connections_max();
	server->charge.account = BUDGET_OTLP;
	server->bodies_soft_max = least(BODIES_SOFT_MAX, budget_limit() / 4);
	server->bodies_hard_max = least(BODIES_HARD_MAX, budget_limit() / 2);
	pthread_mutex_init(&server->route_lock, NULL);
	cond_init(&server->route_quiet);
	find_counters(server, metrics);
	server->read_buffer = malloc(READ_BYTES);
	if (!server->read_buffer)
		return -ENOMEM;
	r = loop_new(&server->loop);
	if (r == 0)
		r = work_new(threads ? work_thread_count() : 0, &server->work);
	if (r == 0 && threads)
		r = loop_start(server->loop, "wick: io");
	if (r < 0)
		return r;
	*ret_server = TAKE(server);
	return 0;
}

int server_new(struct metrics *metrics, struct server **ret_server)
{
	return server_make(metrics, true, ret_server);
}

static bool has_unsent(const struct server *server)
{
	for (const struct endpoint *endpoint = server->endpoints; endpoint; endpoint = endpoint->next)
		for (const struct connection *connection = endpoint->connections; connection;
		     connection = connection->next)
			if (connection_has_output(connection))
				return true;
	return false;
}

void server_free(struct server *server)
{
	u64 until_ns = monotonic_ns() + FLUSH_NS;

	if (!server)
		return;
	work_free(server->work);
	if (server->loop) {
		loop_stop(server->loop);
		loop_round(server->loop, 0);
		while (has_unsent(server) && monotonic_ns() < until_ns)
			loop_round(server->loop, 10);
		while (server->endpoints)
			endpoint_free(server->endpoints);
		loop_round(server->loop, 0);
	}
	loop_free(server->loop);
	pthread_mutex_destroy(&server->route_lock);
	pthread_cond_destroy(&server->route_quiet);
	free(server->read_buffer);
	free(server);
}

struct set_hooks {
	struct server *server;
	const struct server_hooks *hooks;
	int result;
};

static void pulse(struct loop_timer *timer, u64 now_ns)
{
	struct server *server = (struct server *)((char *)timer - offsetof(struct server, pulse));

	server->hooks.pulse(server->hooks.pulse_arg);
	loop_timer_set(server->loop, timer, now_ns + server->hooks.pulse_ns);
}

static void set_hooks(void *arg)
{
	struct set_hooks *set = arg;
	struct server *server = set->server;
	const struct server_hooks *hooks = set->hooks;
	bool wants_pulse = hooks->pulse && hooks->pulse_ns;

	if (wants_pulse && !server->pulse.expired) {
		set->result = loop_timer_add(server->loop, &server->pulse);
		if (set->result < 0)
			return;
		server->pulse.expired = pulse;
	}
	server->hooks = *hooks;
	if (server->pulse.expired)
		loop_timer_set(server->loop, &server->pulse, wants_pulse ? loop_now(server->loop) + 1 : 0);
}

int server_set_hooks(struct server *server, const struct server_hooks *hooks)
{
	struct set_hooks set = { server, hooks, 0 };

	loop_call(server->loop, set_hooks, &set);
	return set.result;
}

void server_set_passed(struct server *server, struct passed *passed)
{
	server->passed = passed;
}

/* ---- Work ---------------------------------------------------------------------------------- */

struct piece {
	struct work_item item;
	struct server *server;
	void (*work)(void *arg);
	void *arg;
};

static void run_piece(struct work_item *item)
{
	struct piece *piece = (struct piece *)item;

	atomic_fetch_sub(&piece->server->work_waiting, 1);
	piece->work(piece->arg);
	free(piece);
}

int server_work(struct server *server, void (*work)(void *arg), void *arg)
{
	struct piece *piece;

	if (atomic_fetch_add(&server->work_waiting, 1) >= WORK_WAITING_MAX) {
		atomic_fetch_sub(&server->work_waiting, 1);
		return -EAGAIN;
	}
	piece = malloc(sizeof(*piece));
	if (!piece) {
		atomic_fetch_sub(&server->work_waiting, 1);
		return -EAGAIN;
	}
	*piece = (struct piece){ .item.run = run_piece, .server = server, .work = work, .arg = arg };
	work_add(server->work, &piece->item);
	return 0;
}
