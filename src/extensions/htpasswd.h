/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Users and what is left of their passwords, as Apache's htpasswd writes them:
 *
 *	name:$2y$05$...		bcrypt, and whatever else crypt(3) knows ($1$, $5$, $6$, $y$)
 *	name:$apr1$salt$...	Apache's MD5
 *	name:{SHA}...		SHA-1 in base64
 *	name:{SSHA}...		the same with a salt
 *	name:text		the password itself
 *
 * libcrypt is loaded when a line needs it.
 */
#ifndef EXTENSIONS_HTPASSWD_H
#define EXTENSIONS_HTPASSWD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/types.h"

#define HTPASSWD_LINES_MAX 100000

struct buf;

/* How many lines text holds; -EINVAL with a sentence if one is none. */
int htpasswd_check(const char *text, struct buf *why);

/* Is there a line with this name and password? The first one of that name counts. */
bool htpasswd_matches(const char *text, const char *name, const char *password);

/* "Basic dXNlcjpwYXNz" as name and password; false if it is not that. Both have room for strlen(header) bytes. */
bool htpasswd_split(const char *header, char *ret_name, char *ret_password);

#endif
