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

static bool cookie_has_token(const struct guard *guard, const char *cookies)
{
	static const char name[] = GUARD_COOKIE "=";

	while (cookies && *cookies) {
		size_t len = strcspn(cookies, ";");
		char value[512];

		if (!strncmp(cookies, name, sizeof(name) - 1) && len - (sizeof(name) - 1) < sizeof(value)) {
			memcpy(value, cookies + sizeof(name) - 1, len - (sizeof(name) - 1));
			value[len - (sizeof(name) - 1)] = '\0';
			if (guard_is_token(guard, value))
				return true;
		}
		cookies += len;
		cookies += strspn(cookies, "; ");
	}
	return false;
}

static bool has_token(const struct guard *guard, const struct exchange *exchange)
{
	const char *authorization = exchange_header(exchange, "authorization");

	if (authorization && !strncasecmp(authorization, "Bearer ", 7))
		return guard_is_token(guard, authorization + 7);
	return cookie_has_token(guard, exchange_header(exchange, "cookie"));
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

const char *guard_refuses(const struct guard *guard, const struct exchange *exchange, int *ret_status)
{
	const char *host = exchange_header(exchange, "host"), *site = exchange_header(exchange, "sec-fetch-site");

	if (!host)
		host = exchange_header(exchange, ":authority");
	*ret_status = 403;
	if (!guard_host_allowed(guard, host))
		return "this name is not known here; ask by address, or add the name to allowed_hosts of the page "
		       "extension";
	if (!guard_origin_allowed(exchange_header(exchange, "origin"), host) ||
	    (site && !strcasecmp(site, "cross-site") && strcmp(exchange_path(exchange), "/")))
		return "requests of other sites are refused";
	*ret_status = 401;
	if (*guard->token && !has_token(guard, exchange) && !is_operator(guard, exchange))
		return guard->lets_operator ?
			"only root and who started wick may ask without a token; the operator can set one (token of "
			"the page extension): open /?token=TOKEN once, or send Authorization: Bearer TOKEN" :
			"a token is needed: open /?token=TOKEN once, or send Authorization: Bearer TOKEN";
	return NULL;
}
