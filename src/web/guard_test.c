// SPDX-License-Identifier: Apache-2.0
#include "web/guard.h"

#include <string.h>
#include <unistd.h>

#include "net/exchange.h"
#include "test.h"
#include "web/sessions.h"

#define ID "0123456789abcdef0123456789abcdef"

struct request {
	const char *path, *host, *authority, *origin, *site, *authorization, *cookie;
	int status;			/* 0: may pass */
};

static void add(struct exchange *exchange, const char *name, const char *value)
{
	if (value)
		EQ(exchange_add_header(exchange, name, strlen(name), value, strlen(value)), 0);
}

static int status_of(const struct guard *guard, const struct request *request)
{
	static struct exchange exchange;
	const char *path = request->path ? request->path : "/api/v1/flame";
	const char *why;
	int status = -1;

	memset(&exchange, 0, sizeof(exchange));
	buf_init(&exchange.head, 1 << 16);
	EQ(exchange_set_target(&exchange, path, strlen(path)), 0);
	add(&exchange, "host", request->host);
	add(&exchange, ":authority", request->authority);
	add(&exchange, "origin", request->origin);
	add(&exchange, "sec-fetch-site", request->site);
	add(&exchange, "authorization", request->authorization);
	add(&exchange, "cookie", request->cookie);
	why = guard_refuses(guard, &exchange, &status);
	buf_done(&exchange.head);
	free(exchange.headers);
	return why ? status : 0;
}

static void statuses_are(const struct guard *guard, const struct request *cases, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		int status = status_of(guard, &cases[i]);

		if (status != cases[i].status)
			FAIL("case %zu: status %d, not %d", i, status, cases[i].status);
	}
}

#define STATUSES_ARE(guard, cases) statuses_are(guard, cases, sizeof(cases) / sizeof((cases)[0]))

TEST(guard_lets_those_pass_who_ask_by_a_known_name)
{
	static const struct guard guard = { .token = "", .host_name = "box" };
	static const struct request cases[] = {
		{ .host = "localhost:11000" },
		{ .authority = "localhost:11000" },
		{ .host = "LOCALHOST" },
		{ .host = "Box:1" },
		{ .host = "[::1]:11000" },
		{ .host = "[fe80::1]" },
		{ .status = 403 },
		{ .host = "", .status = 403 },
		{ .host = "evil.example", .authority = "localhost", .status = 403 },
		{ .host = "localhost.", .status = 403 },
		{ .host = "[localhost.evil.example]", .status = 403 },
	};

	STATUSES_ARE(&guard, cases);
}

TEST(guard_takes_names_that_are_as_long_as_names_can_be)
{
	char long_name[300];
	const char *const names[] = { long_name };
	struct guard guard = { .token = "", .hosts = { 1, names }, .host_name = "box" };

	memset(long_name, 'a', sizeof(long_name));
	long_name[255] = '\0';
	OK(guard_host_allowed(&guard, long_name));
	long_name[255] = 'a';
	long_name[256] = '\0';
	OK(!guard_host_allowed(&guard, long_name));
}

TEST(guard_looks_at_every_name_that_is_allowed)
{
	static const char *const names[] = { "one.example", "two.example", "three.example" };
	struct guard guard = { .token = "", .hosts = { 3, names }, .host_name = "box" };

	for (size_t i = 0; i < 3; i++)
		OK(guard_host_allowed(&guard, names[i]));
	guard.hosts.count = 2;
	OK(!guard_host_allowed(&guard, names[2]));
}

TEST(guard_refuses_scripts_of_other_sites)
{
	static const struct guard guard = { .token = "", .host_name = "box" };
	static const struct request cases[] = {
		{ .host = "localhost:1", .origin = "http://localhost:1" },
		{ .host = "localhost:1", .origin = "https://LOCALHOST:1" },
		{ .host = "localhost:1", .site = "same-origin" },
		{ .host = "localhost:1", .site = "none" },
		/* A link from elsewhere may lead to the page, but not to its answers. */
		{ .path = "/", .host = "localhost:1", .site = "cross-site" },
		{ .host = "localhost:1", .site = "cross-site", .status = 403 },
		{ .host = "localhost:1", .site = "Cross-Site", .status = 403 },
		{ .path = "/", .host = "localhost:1", .origin = "http://localhost:2", .status = 403 },
		{ .host = "localhost:1", .origin = "localhost:1", .status = 403 },
		{ .host = "localhost:1", .origin = "", .status = 403 },
		{ .host = "localhost:1", .origin = "null", .status = 403 },
	};

	STATUSES_ARE(&guard, cases);
	OK(!guard_origin_allowed("http://localhost", NULL));
}

TEST(guard_wants_the_token_where_one_is_set)
{
	static struct sessions sessions = { .lock = PTHREAD_MUTEX_INITIALIZER };
	static const struct guard guard = { .token = "secret", .host_name = "box", .sessions = &sessions };
	static const struct request cases[] = {
		{ .host = "box", .authorization = "Bearer secret" },
		{ .host = "box", .authorization = "bearer secret" },
		/* The token itself is no session. */
		{ .host = "box", .cookie = GUARD_COOKIE "=secret", .status = 401 },
		{ .host = "box", .cookie = "wick_token=secret", .status = 401 },
		{ .host = "box", .cookie = GUARD_COOKIE "=" ID },
		{ .host = "box", .cookie = "a=b; " GUARD_COOKIE "=" ID },
		{ .host = "box", .cookie = GUARD_COOKIE "=old; " GUARD_COOKIE "=" ID "; c=d" },
		{ .host = "box", .authorization = "Basic eA==", .cookie = GUARD_COOKIE "=" ID },
		{ .host = "box", .status = 401 },
		{ .host = "box", .cookie = "", .status = 401 },
		{ .host = "box", .cookie = GUARD_COOKIE, .status = 401 },
		{ .host = "box", .cookie = GUARD_COOKIE "=", .status = 401 },
		{ .host = "box", .cookie = GUARD_COOKIE "=" ID "0", .status = 401 },
		{ .host = "box", .cookie = GUARD_COOKIE "=0123456789abcdef", .status = 401 },
		{ .host = "box", .cookie = "x" GUARD_COOKIE "=" ID, .status = 401 },
		{ .host = "box", .cookie = "a=" GUARD_COOKIE "=" ID, .status = 401 },
		{ .host = "box", .authorization = "Bearer", .status = 401 },
		{ .host = "box", .authorization = "Bearer ", .status = 401 },
		{ .host = "box", .authorization = "Bearer Secret", .status = 401 },
		{ .host = "box", .authorization = "Bearer  secret", .status = 401 },
		{ .host = "box", .authorization = "Bearer wrong", .cookie = GUARD_COOKIE "=" ID, .status = 401 },
		{ .host = "box", .authorization = "secret", .status = 401 },
		/* Who comes by another name is told so first. */
		{ .host = "evil", .authorization = "Bearer secret", .status = 403 },
	};

	memcpy(sessions.at[3].id, ID, SESSION_BYTES);
	sessions.at[3].begin_ns = monotonic_ns();
	STATUSES_ARE(&guard, cases);
}

TEST(guard_lets_the_operator_pass_without_a_token)
{
	static struct exchange exchange;
	char token[GUARD_TOKEN_BYTES], bearer[64];
	struct guard guard = { .host_name = "box" };
	uid_t own = geteuid(), users[] = { 0, own, 4000, 4001 };
	int status;

	EQ(guard_use_operator(&guard, geteuid(), "4000", token), 0);
	EQ(strlen(token), GUARD_TOKEN_BYTES - 1);
	EQ(status_of(&guard, &(struct request){ .host = "box" }), 401);
	(void)snprintf(bearer, sizeof(bearer), "Bearer %s", token);
	EQ(status_of(&guard, &(struct request){ .host = "box", .authorization = bearer }), 0);
	for (size_t i = 0; i < sizeof(users) / sizeof(users[0]); i++) {
		bool may = !users[i] || users[i] == own || (users[i] == 4000 && !own);

		memset(&exchange, 0, sizeof(exchange));
		exchange.peer = (struct caller){ .has_uid = true, .uid = users[i] };
		buf_init(&exchange.head, 1 << 16);
		add(&exchange, "host", "box");
		EQ(!guard_refuses(&guard, &exchange, &status), may);
		buf_done(&exchange.head);
		free(exchange.headers);
	}
	EQ(guard_use_operator(&guard, geteuid(), "12x", token), 0);
	EQ(guard.operators[2], 0);
}

TEST(guard_without_a_token_is_no_guess)
{
	struct guard guard = { .token = "" };

	OK(guard_is_token(&guard, ""));
	OK(!guard_is_token(&guard, "x"));
	guard.token = "aaaa";
	OK(guard_is_token(&guard, "aaaa"));
	OK(!guard_is_token(&guard, "aa"));
	OK(!guard_is_token(&guard, "aaaaaaaa"));
	OK(!guard_is_token(&guard, "baaa"));
	OK(!guard_is_token(&guard, "aaab"));
}
