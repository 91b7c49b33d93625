/* SPDX-License-Identifier: Apache-2.0 */
/* Who has the token but no session: a form, and what is read from it. */
#ifndef WEB_SIGN_IN_H
#define WEB_SIGN_IN_H

#include <stdbool.h>
#include <stddef.h>

struct buf;

/* The value of a key in "a=b&c=d" of a query or a form, decoded. False: there is none, or it does not fit. */
bool form_value(const char *form, const char *key, char *ret_value, size_t bytes);

/* The query without that key, as it was. */
void form_without(const char *form, const char *key, struct buf *out);

/* The page with the form, which is sent to the address that it is shown at; sentence: why it is shown. */
void sign_in_page(const char *sentence, struct buf *out);

#endif
