/* SPDX-License-Identifier: Apache-2.0 */
/* What the page answers with: the headers that guard it in a browser, and those of one answer. Of one thread. */
#ifndef WEB_PAGE_REPLY_H
#define WEB_PAGE_REPLY_H

#include <stdbool.h>

#include "base/types.h"
#include "net/server.h"

struct buf;
struct exchange;

#define PAGE_REPLY_HEADERS_MAX 11

struct page_reply {
	struct http_header headers[PAGE_REPLY_HEADERS_MAX];
	u32 count;
	char disposition[128];
};

/* With the guards. */
void page_reply_init(struct page_reply *reply);

/* Both are borrowed until it is sent; one that is too many is left out. */
void page_reply_header(struct page_reply *reply, const char *name, const char *value);

/* Ends the exchange; the body is taken over. */
void page_reply_send(struct page_reply *reply, struct exchange *exchange, int status, const char *type,
		     struct buf *body);

/* Does the other side take gzip? Packs a body for one that does, if that is worth it. */
bool page_takes_gzip(const struct exchange *exchange);
void page_reply_pack(struct page_reply *reply, struct exchange *exchange, struct buf *body);

/* {"error": sentence}; ends the exchange. */
void page_refuse(struct exchange *exchange, int status, const char *sentence);

/* A form with its NUL: the body, or the query of the address where there is none. False: it cannot be read. */
bool page_read_form(struct exchange *exchange, size_t bytes_max, struct buf *ret_form);

#endif
