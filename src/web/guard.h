/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may ask the page: profiles tell much about a machine.
 *
 *  - The Host must be an address, localhost, this machine's name or one that the configuration
 *    names: a name that somebody else points at this machine (DNS rebinding) is refused.
 *  - A request that a script of another site makes (Origin, Sec-Fetch-Site) is refused.
 *  - Where a token is set, it must come along: Authorization: Bearer. A browser shows it once, in a form or as
 *    /?token=TOKEN, and has a session from then on: a cookie that is not the token (sessions.h).
 *  - Where none is set there is one that only the operator gets to know, and who is known to be him needs none: root,
 *    and who started wick, by sudo too, by a socket of this machine.
 */
#ifndef WEB_GUARD_H
#define WEB_GUARD_H

#include <stdbool.h>
#include <sys/types.h>

#include "config/fields.h"

struct exchange;
struct sessions;

struct guard {
	struct sessions *sessions;	/* NULL: none */
	const char *token;		/* "": none */
	bool lets_operator;		/* pass without it */
	uid_t operators[3];
	struct config_texts hosts;	/* further names */
	char host_name[256];		/* this machine's */
};

#define GUARD_COOKIE "wick_session"

/* Whether the name and the site that it is asked by are known; as below. Who asks is not looked at. */
const char *guard_refuses_origin(const struct guard *guard, const struct exchange *exchange);

/* The session that a request's cookies tell; "" if none. */
#define GUARD_SESSION_BYTES 64
void guard_session(const struct exchange *exchange, char ret_id[GUARD_SESSION_BYTES]);

/*
 * Nobody has said who may ask: the operator, and who has the token, which is made and written to ret_token. sudo_uid is
 * what sudo left in the environment, or NULL. -errno.
 */
#define GUARD_TOKEN_BYTES 33
int guard_use_operator(struct guard *guard, uid_t starter, const char *sudo_uid, char ret_token[GUARD_TOKEN_BYTES]);

/* NULL if it may pass; else the status goes to ret_status, and the sentence is returned. */
const char *guard_refuses(const struct guard *guard, const struct exchange *exchange, int *ret_status);

/* Is this the token? In time that does not depend on where it differs. */
bool guard_is_token(const struct guard *guard, const char *text);

/* The same by the headers alone, for tests. */
bool guard_host_allowed(const struct guard *guard, const char *host);
bool guard_origin_allowed(const char *origin, const char *host);

#endif
