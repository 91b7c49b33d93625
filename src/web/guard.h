/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may ask the page: profiles tell much about a machine.
 *
 *  - The Host must be an address, localhost, this machine's name or one that the configuration
 *    names: a name that somebody else points at this machine (DNS rebinding) is refused.
 *  - A request that a script of another site makes (Origin, Sec-Fetch-Site) is refused.
 *  - Where a token is set, it must come along: Authorization: Bearer, or a cookie, which
 *    opening /?token=TOKEN once leaves in the browser.
 */
#ifndef WEB_GUARD_H
#define WEB_GUARD_H

#include <stdbool.h>

#include "config/fields.h"

struct exchange;

struct guard {
	const char *token;		/* "": none */
	struct config_texts hosts;	/* further names */
	char host_name[256];		/* this machine's */
};

#define GUARD_COOKIE "wick_token"

/* NULL if it may pass; else the status goes to ret_status, and the sentence is returned. */
const char *guard_refuses(const struct guard *guard, const struct exchange *exchange, int *ret_status);

/* Is this the token? In time that does not depend on where it differs. */
bool guard_is_token(const struct guard *guard, const char *text);

/* The same by the headers alone, for tests. */
bool guard_host_allowed(const struct guard *guard, const char *host);
bool guard_origin_allowed(const char *origin, const char *host);

#endif
