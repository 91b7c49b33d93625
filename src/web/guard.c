// SPDX-License-Identifier: Apache-2.0
#include "web/guard.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/hex.h"
#include "net/hosts.h"
#include "net/server.h"
#include "web/sessions.h"

bool guard_host_allowed(const struct guard *guard, const char *host)
{
	char name[HOSTS_NAME_MAX];

	if (!host || !hosts_name(host, name))
		return false;
	if (hosts_is_own(name, guard->host_name))
		return true;
	for (u32 i = 0; i < guard->hosts.count; i++)
		if (!strcasecmp(name, guard->hosts.at[i]))
			return true;
	return false;
}

/* "http://host:port" of the page itself. */
bool guard_origin_allowed(const char *origin, const char *host)
{
	const char *at;

	if (!origin)
		return true;
	at = strstr(origin, "://");
	return at && host && !strcasecmp(at + 3, host);
}

bool guard_is_token(const struct guard *guard, const char *text)
{
	size_t len = strlen(guard->token), given = strlen(text);
	unsigned char difference = len != given;

	for (size_t i = 0; i < given; i++)
		difference |= (unsigned char)(text[i] ^ guard->token[len ? i % len : 0]);
	return !difference;
}

/* The next cookie of that name, and where to look on; NULL: there is none. */
static const char *next_session(const char *cookies, char ret_id[GUARD_SESSION_BYTES])
{
	static const char name[] = GUARD_COOKIE "=";

	*ret_id = '\0';
	while (cookies && *cookies) {
		size_t len = strcspn(cookies, ";"), value = sizeof(name) - 1;
		bool is_it = !strncmp(cookies, name, value) && len - value < GUARD_SESSION_BYTES;

		if (is_it) {
			memcpy(ret_id, cookies + value, len - value);
			ret_id[len - value] = '\0';
		}
		cookies += len;
		cookies += strspn(cookies, "; ");
		if (is_it)
			return cookies;
	}
	return NULL;
}

void guard_session(const struct exchange *exchange, char ret_id[GUARD_SESSION_BYTES])
{
	(void)next_session(exchange_header(exchange, "cookie"), ret_id);
}

static bool has_session(const struct guard *guard, const char *cookies)
{
	char id[GUARD_SESSION_BYTES];

	while (guard->sessions && (cookies = next_session(cookies, id)))
		if (sessions_has(guard->sessions, id, monotonic_ns()))
			return true;
	return false;
}

static bool has_token(const struct guard *guard, const struct exchange *exchange)
{
	const char *authorization = exchange_header(exchange, "authorization");

	if (authorization && !strncasecmp(authorization, "Bearer ", 7))
		return guard_is_token(guard, authorization + 7);
	return has_session(guard, exchange_header(exchange, "cookie"));
}

int guard_use_operator(struct guard *guard, uid_t starter, const char *sudo_uid, char ret_token[GUARD_TOKEN_BYTES])
{
	u8 random[(GUARD_TOKEN_BYTES - 1) / 2];
	char *end = NULL;
	unsigned long user = sudo_uid ? strtoul(sudo_uid, &end, 10) : 0;

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return -EAGAIN;
	hex_write(random, sizeof(random), ret_token);
	ret_token[GUARD_TOKEN_BYTES - 1] = '\0';
	guard->token = ret_token;
	guard->lets_operator = true;
	guard->operators[0] = 0;
	guard->operators[1] = starter;
	/* Only who is root can have been made so by sudo. */
	guard->operators[2] = starter == 0 && end && end != sudo_uid && !*end && user < UINT32_MAX ? (uid_t)user : 0;
	return 0;
}

static bool is_operator(const struct guard *guard, const struct exchange *exchange)
{
	uid_t user;

	if (!guard->lets_operator || !exchange_peer_user(exchange, &user))
		return false;
	return user == guard->operators[0] || user == guard->operators[1] || user == guard->operators[2];
}

const char *guard_refuses_origin(const struct guard *guard, const struct exchange *exchange)
{
	const char *host = exchange_header(exchange, "host"), *site = exchange_header(exchange, "sec-fetch-site");

	if (!host)
		host = exchange_header(exchange, ":authority");
	if (!guard_host_allowed(guard, host))
		return "this name is not known here; ask by address, or add the name to allowed_hosts of the page "
		       "extension";
	if (!guard_origin_allowed(exchange_header(exchange, "origin"), host) ||
	    (site && !strcasecmp(site, "cross-site") && strcmp(exchange_path(exchange), "/")))
		return "requests of other sites are refused";
	return NULL;
}

const char *guard_refuses(const struct guard *guard, const struct exchange *exchange, int *ret_status)
{
	const char *why = guard_refuses_origin(guard, exchange);

	*ret_status = why ? 403 : 401;
	if (why || !*guard->token || has_token(guard, exchange) || is_operator(guard, exchange))
		return why;
	return guard->lets_operator ?
		"only root and who started wick may ask without a token; the operator can set one (token of the page "
		"extension): open / and sign in, or send Authorization: Bearer TOKEN" :
		"a token is needed: open / and sign in, or send Authorization: Bearer TOKEN";
}
